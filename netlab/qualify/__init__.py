"""netlab measured against known rates (calibration) and against its peers (bench)."""

from netlab.wings import Command, Wing

wing = Wing(
    commands={
        "bench": Command(
            "netlab.qualify.commands:bench_command",
            "Compare netlab with iperf3, iperf, nuttcp and neper on lab paths.",
        ),
        "calibrate": Command(
            "netlab.qualify.commands:calibrate_command",
            "Measure lab paths of known rate, then the path emulator; exit code 1 if "
            "a cell is off.",
        ),
    },
)
