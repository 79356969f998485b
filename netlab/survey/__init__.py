"""A look at two hosts: what they have, their path, and what would spoil a measurement."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "init": Command(
            "netlab.survey.commands:init_command",
            "Look at two hosts, and write a study of the path between them.",
        ),
        "measure": Command(
            "netlab.survey.commands:measure_command",
            "Measure the path between two hosts, and print its goodput and its limit in one line.",
        ),
    },
    path_finders=("netlab.survey.paths:found_path",),
)
