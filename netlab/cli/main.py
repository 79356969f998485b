"""The `netlab` command: the same study from a shell, with exit codes.

0: done. 1: a run, host or report failed. 2: bad input. 130: interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

import netlab
from netlab.cli.autotune import autotune_command
from netlab.cli.bench import bench_command
from netlab.cli.calibrate import calibrate_command
from netlab.cli.exitcodes import guarded
from netlab.cli.import_results import import_command
from netlab.errors import NetlabError


def _study_options(function: Callable) -> Callable:
    for option in (
        click.option("--quick", is_flag=True, help="The study's short form."),
        click.option("--repeats", type=int, help="Repeats a cell, in place of the study's."),
        click.option("--seconds", type=float, help="Measured seconds a run."),
        click.option("--seed", type=int, help="Seed of the randomised order."),
    ):
        function = option(function)
    return function


def _load(study: str, quick: bool, repeats: int | None, seconds: float | None, seed: int | None):
    from netlab.files import paths
    from netlab.study import load

    return load(paths.study_file(study), quick=quick, repeats=repeats, seconds=seconds, seed=seed)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(netlab.__version__, prog_name="netlab")
def main() -> None:
    """Reproducible throughput studies of a network path."""


@main.command()
@click.argument("study")
@_study_options
@click.option("--site", type=click.Path(path_type=Path), default=Path("site"), show_default=True)
@guarded
def study(study: str, site: Path, **timing: object) -> None:
    """Run STUDY and write its report: `run`, then `report`."""
    from netlab.experiment.progress import Bar

    loaded = _load(study, **timing)
    with Bar() as bar:
        _run(loaded, None, bar)
        index = _report(loaded, None, site, bar)
    click.echo(index)


@main.command()
@click.argument("study")
@_study_options
@click.option("--results", type=click.Path(path_type=Path), help="Directory for the results.")
@guarded
def run(study: str, results: Path | None, **timing: object) -> None:
    """Measure every run of STUDY that has no valid record yet."""
    from netlab.experiment.progress import Bar

    loaded = _load(study, **timing)
    with Bar(report=False) as bar:
        campaign = _run(loaded, results, bar)
    click.echo(campaign.directory)


@main.command()
@click.argument("study")
@_study_options
@click.option("--results", type=click.Path(path_type=Path), help="Directory of the results.")
@click.option("--site", type=click.Path(path_type=Path), default=Path("site"), show_default=True)
@guarded
def report(study: str, results: Path | None, site: Path, **timing: object) -> None:
    """Write the report of what STUDY has measured, and print its path."""
    from netlab.experiment.progress import Bar

    loaded = _load(study, **timing)
    with Bar() as bar:
        index = _report(loaded, results, site, bar)
    click.echo(index)


def _run(loaded, results: Path | None, bar):
    from netlab.experiment.campaign import run_study

    campaign = run_study(loaded, directory=results, watcher=bar)
    click.echo(
        f"netlab: {campaign.runs_measured} runs measured in {campaign.blocks_measured} blocks, "
        f"{campaign.runs_kept} kept from before",
        err=True,
    )
    return campaign


def _report(loaded, results: Path | None, site: Path, bar) -> Path:
    from netlab.files import paths
    from netlab.report.publish import publish

    return publish(loaded, results or paths.results_dir(loaded.name), site, bar.step)


@main.command()
@click.argument("study")
@_study_options
@guarded
def check(study: str, **timing: object) -> None:
    """Preflight STUDY: hosts, keys, sudo, interfaces, MTUs, space, limits, ceilings."""
    from netlab.experiment.preflight import preflight

    failed = 0
    for finding in preflight(_load(study, **timing)):
        click.echo(finding.line())
        failed += finding.status == "fail"
    if failed:
        raise NetlabError(f"{failed} of the checks failed")


@main.group()
def tune() -> None:
    """Show and recover tunings."""


@tune.command("plan")
@click.argument("study")
@click.option("--tuning", help="One tuning of the study; all when left out.")
@click.option("--path", "path_name", help="One path of the study; all when left out.")
@guarded
def tune_plan(study: str, tuning: str | None, path_name: str | None) -> None:
    """Show what each tuning of STUDY would change on each host, as a diff. Changes nothing."""
    from netlab.cli.tune_plans import plans
    from netlab.files import paths
    from netlab.study import load

    for heading, diff in plans(load(paths.study_file(study)), tuning, path_name):
        click.echo(f"# {heading}\n{diff}")


@tune.command("recover")
@click.argument("study")
@guarded
def tune_recover(study: str) -> None:
    """Revert what a dead netlab left changed on STUDY's hosts."""
    from netlab.cli.tune_plans import recover
    from netlab.files import paths
    from netlab.study import load

    for line in recover(load(paths.study_file(study))):
        click.echo(line)


@main.group()
def lab() -> None:
    """The lab of network namespaces that comes with netlab."""


@lab.command("up")
@click.argument("study", default="openlab-2003")
@guarded
def lab_up(study: str) -> None:
    """Make the hosts and links of STUDY; they stay until `netlab lab down`."""
    from netlab.cli.lab_text import shown
    from netlab.files import paths
    from netlab.lab.lab import Lab, find
    from netlab.study import load

    loaded = load(paths.study_file(study))
    click.echo(shown(find(loaded) or Lab.up(loaded)))


@lab.command("down")
@click.argument("lab_id", required=False)
@guarded
def lab_down(lab_id: str | None) -> None:
    """Remove the lab LAB_ID, or all that no running netlab owns."""
    from netlab.lab.lab import down

    removed = down(lab_id)
    click.echo(f"removed: {', '.join(removed)}" if removed else "no lab is up")


@lab.command("status")
@guarded
def lab_status() -> None:
    """List what the labs of this machine have made."""
    from netlab.cli.lab_text import shown
    from netlab.lab.lab import labs

    click.echo("\n".join(map(shown, labs())) or "no lab is up")


@lab.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("argv", nargs=-1)
@guarded
def lab_shell(host: str, argv: tuple[str, ...]) -> None:
    """Run a command (or a shell) on HOST of the lab that is up."""
    import os

    from netlab.lab.lab import labs

    for there in labs():
        if host in there.hosts:
            program = argv or (os.environ.get("SHELL", "/bin/sh"),)
            words = there.inside(host, program)
            os.execvp(words[0], words)
    raise NetlabError(f"no lab that is up has a host called {host!r}")


main.add_command(autotune_command)
main.add_command(bench_command)
main.add_command(calibrate_command)
main.add_command(import_command)
