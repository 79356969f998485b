"""Import of other tools' output."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "import": Command(
            "netlab.cli.results:import_command",
            "Import what other tools printed, such as iperf3, iperf 2, netperf, nuttcp or flent.",
        ),
    },
)
