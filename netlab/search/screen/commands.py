"""``netlab screen``: find the knobs of a tuning that matter, and the least set of them."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import click

from netlab.analysis.cells import LEAST
from netlab.cli import loading, options
from netlab.cli.main import main
from netlab.errors import NetlabError, check
from netlab.experiment.progress import Progress
from netlab.search.screen.design import design
from netlab.search.screen.page import to_text
from netlab.search.screen.probe import probe
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.search.screen.written import write_files
from netlab.study.schedule import VISIT_S, run_s

CHARTS, YAML = (".svg", ".png"), (".yml", ".yaml")


def _check_ending(key: str, file: Path | None, endings: tuple[str, ...], *, code: str) -> None:
    fine = file is None or file.suffix.lower() in endings
    check(fine, key, str(file), f"must end in {' or '.join(endings)}", code)


@main.command("screen")
@options.study_argument
@click.option("--tuning", required=True, help="Tuning of the study, or one that netlab brings.")
@click.option("--group", "group_name", help="Group to measure. Default: the study's only one.")
@click.option("--streams", type=int, help="TCP streams. Default: the group's first.")
@click.option("--mtu", "mtu_B", type=int, help="MTU of all rows. Default: the tuning's first.")
@click.option(
    "--design",
    type=click.Choice(["auto", "full", "folded", "leave-one-out"]),
    default="auto",
    help="Rows to measure; auto: full for up to 4 knobs, else folded.",
)
@click.option(
    "--same-within", "same_within_percent", default=5.0, help="Bound of 'the same', per cent."
)
@click.option(
    "--confirm-rounds", default=10, help="Rounds that compare the least set with the whole tuning."
)
@options.timing_options
@options.results_option(place="STUDY/screens/TUNING")
@options.file_option(
    "--output", help="YAML file for the least set. Default: TUNING-least.yml in --results."
)
@click.option("--plan", "only_plan", is_flag=True, help="Show rows and time; measure nothing.")
def screen_command(
    study: str, results: Path | None, output: Path | None, only_plan: bool, **asked: Any
) -> None:
    """Find the knobs of a tuning that matter, on a path of STUDY.

    Each knob of the tuning is a factor with two levels: set, or left as found. The rows of a
    two-level design are measured in the study's rounds, each in a visit of its own. A knob that
    neither host has, or that both have at its value, is listed and is not a factor.

    Designs: full (all combinations; every pair), folded (Plackett-Burman and its mirror image;
    effects of knobs are free of pairs), leave-one-out. The least set is then compared with the
    whole tuning and with no knob in rounds of its own.

    Runs are stored like those of a study, and are not repeated by a second call. Files in
    --results: screen.json, effects.svg, and the least set as a tuning. In its default place the
    screen is a page of the study's report. Exit code 1 if the least set is not confirmed.
    """
    _check_ending("output", output, YAML, code="E-CLI-025")
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
    again_s = each_s * study.noise.retries * (rows + 3) * LEAST + study.noise.wait
    click.echo(
        f"{plan.kind} design: {rows} rows x {study.min_rounds}{more} rounds, then 3 x "
        f"{ask.confirm_rounds} runs: about {seconds / 60:.0f} min at least, and up to "
        f"{again_s / 60:.0f} min more if other work disturbs the runs"
    )
