"""``netlab run``: measure a study."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.exitcodes import BELOW_GATE, guarded
from netlab.cli.options import outer_option, results_option, study_argument, timing_options
from netlab.cli.validation import asked_outer, load_measurable

if TYPE_CHECKING:
    from netlab.experiment.campaign import Campaign
    from netlab.experiment.progress import Progress
    from netlab.study import Study


@click.command("run")
@study_argument
@timing_options
@outer_option
@results_option()
@guarded
def run_command(study: str, results: Path | None, outer: dict[str, str], **timing: Any) -> None:
    """Measure every run of STUDY that has no valid record yet.

    Print the directory of the results. STUDY is the name of a study or the path of its file. Exit
    code 1: all runs of a cell failed; 4: measured, and a cell has only disturbed runs, or none yet.
    """
    loaded = load_measurable(study, **timing)
    outer = asked_outer(loaded, outer)
    from netlab.experiment.progress import Progress

    with Progress(report=False) as progress:
        campaign = measure(loaded, results, progress, outer)
    click.echo(campaign.directory)
    sys.exit(exit_code(campaign))


def exit_code(campaign: Campaign) -> int:
    """0 if every cell has a valid run; else say on standard error which has none, and why.

    1 if all runs of a cell failed, 4 if they were disturbed or are still to come.
    """
    without = campaign.empty_cells
    if not without:
        return 0
    click.echo(
        f"netlab: {len(without)} cell{'s have' if len(without) > 1 else ' has'} no valid run, "
        f"the first is {without[0]}",
        err=True,
    )
    from netlab.analysis.cells import empty
    from netlab.analysis.measured import load_measured

    cells = load_measured(campaign.directory).cells
    failed = empty(cells) & (cells["n_flagged"] > 0)
    return 1 if failed.any() else BELOW_GATE


def summary(campaign: Campaign) -> str:
    """One line about a campaign: numbers of runs, and the first that failed."""
    return (
        f"{campaign.measured} runs measured in {campaign.visits} visits, "
        f"{campaign.kept} kept from before; {campaign.failed} failed, {campaign.flagged} flagged"
        + (f"; the first failed run is {campaign.first_failed}" if campaign.first_failed else "")
    )


def measure(
    loaded: Study, results: Path | None, progress: Progress, outer: Mapping[str, str]
) -> Campaign:
    """Measure a study, and note what was measured."""
    from netlab.notebooks.kernel import Kernel

    with Kernel("import netlab.face.block") as kernel:  # imports while this process does
        from netlab.experiment.campaign import run_study

        campaign = run_study(
            loaded, directory=results, outer=outer, watcher=progress, kernel=kernel
        )
    progress.note(summary(campaign))
    if campaign.disturbed:
        progress.note(
            f"{campaign.disturbed} runs are flagged interference, also after "
            f"{loaded.noise.retries} retries"
            + (f" and {campaign.waited_s:.0f} s of waiting" if campaign.waited_s else "")
            + ": these hosts are noisy; quiet them, or set other limits under `noise`"
        )
    if campaign.looks and loaded.precision is not None:
        last = campaign.looks[-1]
        progress.note(
            f"{last.reached} of {last.cells} cells are within "
            f"{loaded.precision.half_width_percent:g} % after {last.round} rounds at most"
            + ("; the budget ended first" if campaign.out_of_time else "")
        )
    return campaign
