"""The ``netlab`` command: the same studies from a shell, with exit codes.

0: done. 1: a run, host or report failed. 2: bad input. 3: a condition of `compare --fail-if` is
met. 4: measured or written, and below the quality gate. 130: interrupted; 129 and 143 by SIGHUP and
SIGTERM.
"""

from __future__ import annotations

import click

from netlab.cli.autotune import autotune_command
from netlab.cli.bench import bench_command
from netlab.cli.bundle import bundle_command
from netlab.cli.calibrate import calibrate_command
from netlab.cli.check import check_command
from netlab.cli.compare import compare_command
from netlab.cli.exitcodes import end_on_signals
from netlab.cli.fleet import fleet_group
from netlab.cli.guide import guide_command
from netlab.cli.hosts import hosts_group
from netlab.cli.import_results import import_command
from netlab.cli.init import init_command
from netlab.cli.lab import lab_group
from netlab.cli.notebooks import notebooks_command
from netlab.cli.report import report_command
from netlab.cli.rerun import rerun_command
from netlab.cli.results import results_group
from netlab.cli.run import run_command
from netlab.cli.schema import schema_command
from netlab.cli.screen import screen_command
from netlab.cli.study import study_command
from netlab.cli.tune import tune_group
from netlab.cli.verify import verify_command


def _show_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the version with its commit, and what the build left out."""
    if not wanted or context.resilient_parsing:
        return
    from netlab import core
    from netlab.version import version

    click.echo(f"netlab, version {version()}")
    if lack := core.bpf_missing():
        click.echo(f"built without BPF congestion controls: {lack}")
    context.exit()


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Measure, tune and publish: reproducible throughput studies of a network path.

    Exit codes: 0 done, 1 a run, host or report failed, 2 bad input, 3 a condition of
    `compare --fail-if` is met, 4 done, and below the quality gate, 130 interrupted.
    """
    end_on_signals()


for command in (
    *(
        init_command,
        study_command,
        run_command,
        report_command,
        check_command,
        tune_group,
        hosts_group,
    ),
    *(lab_group, compare_command, notebooks_command, autotune_command, bench_command),
    screen_command,
    *(calibrate_command, import_command, results_group),
    *(bundle_command, verify_command, rerun_command, schema_command),
    guide_command,
    fleet_group,
):
    main.add_command(command)
