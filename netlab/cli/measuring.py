"""``netlab run``: measure a study."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli import guard, options, terminal
from netlab.notebooks.kernel import Kernel
from netlab.results.flags import PAGE
from netlab.study import Study

if TYPE_CHECKING:
    from netlab.experiment.campaign import CampaignOutcome
    from netlab.experiment.progress import Progress


def run(study: Study, results: Path | None, outer: dict[str, str]) -> None:
    campaign = measure(study, results, outer)
    code = exit_code(campaign)
    click.echo(campaign.directory)
    sys.exit(code)


def exit_code(campaign: CampaignOutcome) -> int:
    """0 if every cell has a valid run; else say on standard error which has none, and why.

    1 if all runs of a cell failed, 4 if they were flagged or are still to come.
    """
    without = campaign.empty_cells
    if not without:
        return 0
    have = "s have" if len(without) > 1 else " has"
    options.note(f"{len(without)} cell{have} no valid run, the first is {without[0]}")
    # half a second, for a campaign with an empty cell alone
    from netlab.analysis.cells import empty
    from netlab.analysis.measured import load_measured

    cells = load_measured(campaign.directory).cells
    failed = empty(cells) & (cells["n_flagged"] > 0)
    return 1 if failed.any() else guard.BELOW_GATE


def summary(campaign: CampaignOutcome) -> str:
    """One line about a campaign: numbers of runs, and the first that failed."""
    return (
        f"{campaign.measured} runs measured in {campaign.visits} visits, "
        f"{campaign.kept} kept from before; {campaign.failed} failed, {campaign.flagged} flagged"
        + (f"; the first failed run is {campaign.first_failed}" if campaign.first_failed else "")
    )


def measure(
    loaded: Study, results: Path | None, outer: Mapping[str, str], shown: Progress | None = None
) -> CampaignOutcome:
    """Measure a study, and note what was measured, in a display of its own if there is none."""
    # what a visit needs is imported while this process makes the lab
    needed = "netlab.face.block, netlab.face.study, netlab.notebooks.parameters"
    with terminal.asking_at_terminal(), Kernel(f"import {needed}") as kernel:
        # most of a second, in which the kernel imports as well
        from netlab.experiment.campaign import run_study
        from netlab.experiment.progress import Progress

        with nullcontext(shown) if shown else Progress(report=False) as progress:
            campaign = run_study(
                loaded, directory=results, outer=outer, watcher=progress, kernel=kernel
            )
            for text in _notes(loaded, campaign):
                progress.note(text)
    return campaign


def _notes(loaded: Study, campaign: CampaignOutcome) -> Iterator[str]:
    yield summary(campaign)
    if campaign.flags:
        yield f"runs by flag: {campaign.flags}; {PAGE} says what to do about each"
    if campaign.disturbed:
        tried = ((loaded.noise.retries, "retries"), (campaign.waited_s, "s of waiting"))
        after = " and ".join(f"{amount:.0f} {unit}" for amount, unit in tried if amount)
        yield (
            f"{campaign.disturbed} runs are flagged interference"
            f"{after and f', also after {after}'}: these hosts are noisy; quiet them, or set other "
            "limits under `noise`"
        )
    if campaign.looks and loaded.precision is not None:
        last, percent = campaign.looks[-1], loaded.precision.half_width_percent
        ended = "; the budget ended first" if campaign.out_of_time else ""
        yield (
            f"{last.reached} of {last.cells} cells are within {percent:g} % after {last.round} "
            f"rounds at most{ended}"
        )
