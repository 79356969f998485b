"""Import of other tools' output."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "import": Command(
            "netlab.imports.commands:import_command",
            "Import what other tools printed, such as iperf3, iperf 2, netperf, nuttcp or flent.",
        ),
    },
    names={"import_files": "netlab.imports.view:import_files"},
)
