"""``netlab measure | autotune | screen | bench | calibrate``: more, or less, than a study."""

from __future__ import annotations

import re
import time
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli import options
from netlab.cli.main import main
from netlab.errors import BadInput, NetlabError, check
from netlab.files import paths
from netlab.files.writing import read_json, write_json

if TYPE_CHECKING:
    from netlab.screen.design import ScreenRequest


# ``netlab autotune``: find the best setting of a path within a budget.

CHARTS, YAML = (".svg", ".png"), (".yml", ".yaml")
CHART_S = 3.0
"""Part of the budget reserved for drawing."""


@main.command("autotune")
@click.argument("path", default="lab")
@click.option("--study", help="Study file or name. Default: two hosts of the lab.")
@click.option(
    "--for",
    "aim",
    type=click.Choice(["goodput", "cpu"]),
    default="goodput",
    help="Highest goodput, or least CPU time per byte of both hosts.",
)
@click.option("--seconds", default=120.0, help="Budget of the search.")
@click.option(
    "--direction",
    type=click.Choice(["->", "<->"]),
    help="One way or both. Default: as in the study's group.",
)
@click.option("--sender", help="Host that sends. Default: as in the study's group.")
@click.option("--tuning", help="Apply this tuning of the study to both hosts.")
@click.option("--mtu", "mtu_B", type=int, help="Set this MTU at both ends.")
@options.levels_option("--record-length", "record_length_B", type=int, help="B to try; repeatable.")
@options.levels_option(
    "--buffer", "buffer_B", type=int, help="Socket buffer to try, B; 0: the kernel's; repeatable."
)
@options.levels_option("--streams", type=int, help="Streams to try; repeatable.")
@click.option(
    "--engines",
    type=click.Choice(["same", "all"]),
    default="same",
    help="all: also try to send and receive without copying every byte.",
)
@click.option(
    "--noisy", is_flag=True, help="Use runs with steal, foreign load or a late emulator too."
)
@click.option("--seed", type=int, help="Seed of the shuffled order. Default: the study's.")
@options.file_option(
    "--output",
    help="YAML file for the winner, JSON beside it. Default: STUDY-PATH.yml in --results.",
)
@options.results_option(place="autotune")
@options.file_option("--chart", help="Draw the search into this .svg or .png.")
def autotune_command(
    path: str,
    study: str | None,
    output: Path | None,
    results: Path | None,
    chart: Path | None,
    **asked: Any,
) -> None:
    """Find the best record length, socket buffer, streams and engine of PATH.

    PATH is the name of a path of the study; without a study, "lab" is an unshaped path between two
    lab hosts. The search starts from the settings of the study: record length and buffer of the
    path's group, and the first of its stream counts.

    Candidates race in shuffled rounds of short runs, one factor at a time. A candidate is dropped
    as soon as the interval of its difference to the leader shows that it is worse. A last race
    compares the best few with what you had; "no better than what you had" is a valid result.
    Flagged runs are not used, and are repeated as time allows.

    --record-length, --buffer and --streams replace netlab's own levels; the present value is tried
    as well. The budget of --seconds is for everything; if a host hangs, the end may come up to 30 s
    late. Each round is reported on standard error, the table and the conclusion on standard
    output. Files: the winner as keys of a study (YAML), and every run (JSON); other files of these
    names are refused. Exit code 1 if the budget allows no conclusion, or a setting of a host
    changed meanwhile.
    """
    began_s = time.monotonic()
    replaced = ("record_length_B", "buffer_B", "streams")
    given = {name: levels for name in replaced if (levels := asked.pop(name))}
    for key, file, endings in (("chart", chart, CHARTS), ("output", output, YAML)):
        _check_ending(key, file, endings, code="E-CLI-001")
    from netlab.autotune.request import SearchRequest, default_study

    loaded = default_study() if study is None else options.load_measurable(study)
    ask = SearchRequest(study=loaded, path=path, given=given, **asked)
    target = output or (results or paths.results_dir("autotune")) / f"{loaded.name}-{path}.yml"
    _check_replaced(target)
    # Import what takes long after the options are validated.
    from netlab.autotune.report import as_json, conclusion, table, to_text, write_fragment
    from netlab.autotune.run import CLOSING_S, autotune
    from netlab.autotune.search import NO_CONCLUSION

    if chart is not None:
        from netlab.charts.chart import show
        from netlab.charts.experiments import search_panels
    closing_s = CLOSING_S + (CHART_S if chart is not None else 0.0)
    tuned = autotune(ask, began_s=began_s, closing_s=closing_s, say=options.note)
    concluded = tuned.outcome.verdict != NO_CONCLUSION
    # the runs of a winner that is there stay beside it
    ending = ".json" if concluded or not target.exists() else ".no-conclusion.json"
    document = write_json(target.with_suffix(ending), as_json(tuned))
    if concluded:
        write_fragment(tuned, target, document.name)
    click.echo(to_text(tuned))
    frame = table(tuned)
    if chart is not None and len(frame):
        click.echo(show(search_panels(frame, conclusion(tuned))).save(chart))
    if not concluded:
        text = f"no conclusion within {ask.seconds:g} s; every run is in {document}"
        raise NetlabError(text, code="E-CLI-002")
    click.echo(target)


def _check_replaced(target: Path) -> None:
    """Refuse to replace a file that no search wrote, such as the study's own."""
    if target.exists():
        first = target.read_text(encoding="utf-8", errors="replace")[:200].partition("\n")[0]
        own = re.fullmatch(r"# netlab \S+ autotune, .*", first) is not None
        _check_own(own, target)
    for runs in (target.with_suffix(".json"), target.with_suffix(".no-conclusion.json")):
        if runs.exists():
            try:
                own = "netlab_autotune" in read_json(runs)
            except (OSError, ValueError):
                own = False
            _check_own(own, runs)


def _check_own(own: bool, file: Path) -> None:
    if not own:
        text = "is not a file of netlab autotune; give another --output, or move it"
        raise BadInput(text, where=str(file), code="E-CLI-037")


def _check_ending(key: str, file: Path | None, endings: tuple[str, ...], *, code: str) -> None:
    fine = file is None or file.suffix.lower() in endings
    check(fine, key, str(file), f"must end in {' or '.join(endings)}", code)


# ``netlab screen``: find the knobs of a tuning that matter, and the least set of them.


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
    from netlab.screen.design import ScreenRequest

    own = {field.name for field in fields(ScreenRequest)}
    timing = {name: asked.pop(name) for name in list(asked) if name not in own}
    ask = ScreenRequest(study=options.load_study(study, **timing), **asked)
    if only_plan:
        _show_plan(ask)
        return
    from netlab.experiment.progress import Progress
    from netlab.report.screen import to_text
    from netlab.screen.run import screen, write_files

    place = results or ask.directory
    found = screen(ask, place, watch=partial(Progress, report=False), say=options.note)
    files = map(str, write_files(found, place, output))
    click.echo("\n".join([f"{to_text(found)}\n", *files]))
    if not found.concluded:
        raise NetlabError(f"the least set is not confirmed: {found.verdict}", code="E-CLI-026")


def _show_plan(ask: ScreenRequest) -> None:
    """Print the rows of the design and the estimated time; hosts are read only."""
    from netlab.experiment.adaptive import LEAST
    from netlab.screen.design import design
    from netlab.screen.run import probe
    from netlab.study.schedule import VISIT_S, run_s

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
