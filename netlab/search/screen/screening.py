"""``netlab screen``: plan or measure a screen, and write what was found."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.cli import loading, options
from netlab.errors import NetlabError
from netlab.experiment.progress import Progress
from netlab.search.endings import YAML, check_ending
from netlab.search.screen.design import design
from netlab.search.screen.page import to_text
from netlab.search.screen.probe import probe
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.search.screen.written import write_files
from netlab.study.durations import VISIT_S, run_s


def run_screen(
    study: str, results: Path | None, output: Path | None, only_plan: bool, **asked: Any
) -> None:
    check_ending("output", output, YAML, code="E-CLI-025")
    own = {field.name for field in fields(ScreenRequest)}
    timing = {name: asked.pop(name) for name in list(asked) if name not in own}
    ask = ScreenRequest(study=loading.load_study(study, **timing), **asked)
    if only_plan:
        _show_plan(ask)
        return
    place = results or ask.directory
    found = screen(ask, place, watch=partial(Progress, report=False), say=options.note)
    files = map(str, write_files(found, place, output))
    click.echo("\n".join([f"{to_text(found)}\n", *files]))
    if not found.concluded:
        raise NetlabError(f"the least set is not confirmed: {found.verdict}", code="E-CLI-026")


def _show_plan(ask: ScreenRequest) -> None:
    """Print the rows of the design and the estimated time; hosts are read only."""
    found = probe(ask)
    for knob, why in found.left_out.items():
        click.echo(f"not a factor: {knob}: {why}")
    if not found.factors:
        return
    plan = design(found.factors, ask.design)
    for name, chosen in plan.rows.items():
        click.echo(f"{name}: {', '.join(chosen) or 'as found'}")
    study, rows = ask.screen_study(plan), len(plan.rows)
    each_s = run_s(study) + VISIT_S
    more = f" to {study.max_rounds}" if study.max_rounds > study.min_rounds else ""
    seconds = each_s * (rows * study.min_rounds + 3 * ask.confirm_rounds)
    again_s = each_s * study.noise.retries * (rows + 3) * LEAST_ROUNDS + study.noise.wait
    click.echo(
        f"{plan.kind} design: {rows} rows x {study.min_rounds}{more} rounds, then 3 x "
        f"{ask.confirm_rounds} runs: about {seconds / 60:.0f} min at least, and up to "
        f"{again_s / 60:.0f} min more if other work disturbs the runs"
    )
