"""``netlab screen``: find the knobs of a tuning that matter, and the least set of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option, study_argument, timing_options
from netlab.cli.validation import load_study
from netlab.errors import BadInput, NetlabError

if TYPE_CHECKING:
    from netlab.experiment.progress import Progress
    from netlab.screen.request import ScreenRequest
    from netlab.screen.run import Screened


@click.command("screen")
@study_argument
@click.option("--tuning", required=True, help="Tuning of the study, or one that netlab brings.")
@click.option("--group", "group_name", help="Group to measure. Default: the study's only one.")
@click.option("--streams", type=int, help="TCP streams. Default: the group's first.")
@click.option("--mtu", "mtu_B", type=int, help="MTU of all rows. Default: the tuning's first.")
@click.option(
    "--design",
    type=click.Choice(["auto", "full", "folded", "leave-one-out"]),
    default="auto",
    show_default=True,
    help="Rows to measure; auto: full for up to 4 knobs, else folded.",
)
@click.option(
    "--same-within",
    "same_within_percent",
    type=float,
    default=5.0,
    show_default=True,
    help="Bound of 'the same', per cent.",
)
@click.option(
    "--confirm-rounds",
    type=int,
    default=10,
    show_default=True,
    help="Rounds that compare the least set with the whole tuning.",
)
@timing_options
@results_option(place="STUDY/screens/TUNING")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file for the least set. Default: TUNING-least.yml in --results.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Show rows and time; measure nothing.")
@guarded
def screen_command(
    study: str,
    tuning: str,
    group_name: str | None,
    streams: int | None,
    mtu_B: int | None,
    design: str,
    same_within_percent: float,
    confirm_rounds: int,
    results: Path | None,
    output: Path | None,
    only_plan: bool,
    **timing: Any,
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
    if output is not None and output.suffix.lower() not in (".yml", ".yaml"):
        raise BadInput(
            "must end in .yml or .yaml", key="output", value=str(output), code="E-CLI-025"
        )
    from netlab.screen.request import ScreenRequest

    ask = ScreenRequest(
        study=load_study(study, **timing),
        tuning=tuning,
        group_name=group_name,
        streams=streams,
        mtu_B=mtu_B,
        design=design,
        same_within_percent=same_within_percent,
        confirm_rounds=confirm_rounds,
    )
    if only_plan:
        _show_plan(ask)
        return
    _screen(ask, results or ask.directory, output)


def _screen(ask: ScreenRequest, place: Path, output: Path | None) -> None:
    from netlab.report.screen import to_text
    from netlab.screen.report import record_of, write_files
    from netlab.screen.run import screen

    found = screen(
        ask, place, watch=_progress, say=lambda line: click.echo(f"netlab: {line}", err=True)
    )
    files = write_files(found, place, output)
    click.echo(f"{to_text(record_of(found))}\n")
    click.echo("\n".join(map(str, files)))
    refuse_unconfirmed(found)


def refuse_unconfirmed(found: Screened) -> None:
    """End with exit code 1 if the least set is not confirmed."""
    if not found.concluded:
        raise NetlabError(f"the least set is not confirmed: {found.verdict}", code="E-CLI-026")


@contextmanager
def _progress() -> Iterator[Progress]:
    from netlab.experiment.progress import Progress

    with Progress(report=False) as progress:
        yield progress


def _show_plan(ask: ScreenRequest) -> None:
    """Print the rows of the design and the estimated time; hosts are read only."""
    from netlab.experiment.retries import LEAST
    from netlab.screen.design import design
    from netlab.screen.probe import probe
    from netlab.study.schedule import VISIT_S, run_s

    found = probe(ask)
    for knob, why in found.left_out.items():
        click.echo(f"not a factor: {knob}: {why}")
    if not found.factors:
        return
    plan = design(found.factors, ask.design)
    for name, chosen in plan.rows.items():
        click.echo(f"{name}: {', '.join(chosen) or 'as found'}")
    study = ask.screen_study(plan)
    each_s = run_s(study) + VISIT_S
    rounds = f"{study.min_rounds}"
    if study.max_rounds > study.min_rounds:
        rounds += f" to {study.max_rounds}"
    seconds = each_s * (len(plan.rows) * study.min_rounds + 3 * ask.confirm_rounds)
    again_s = each_s * study.noise.retries * (len(plan.rows) + 3) * LEAST + study.noise.wait
    click.echo(
        f"{plan.kind} design: {len(plan.rows)} rows x {rounds} rounds, then 3 x "
        f"{ask.confirm_rounds} runs: about {seconds / 60:.0f} min at least, and up to "
        f"{again_s / 60:.0f} min more if other work disturbs the runs"
    )
