"""A fleet: one study over many pairs of hosts, side by side where no two share a host."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "fleet": Command(
            "netlab.fleet.commands:fleet_group",
            "Measure one study over many pairs of hosts, side by side (see docs/fleet.md).",
        ),
    },
    names={"Fleet": "netlab.fleet.view:Fleet"},
)
