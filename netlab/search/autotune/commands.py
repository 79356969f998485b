"""``netlab autotune``: find the best setting of a path within a budget."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from netlab.charts.chart import show
from netlab.cli import loading, options
from netlab.cli.main import main
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.files.writing import read_json, write_json
from netlab.search.autotune.charts import search_panels
from netlab.search.autotune.report import as_json, conclusion, table, to_text, write_fragment
from netlab.search.autotune.request import SearchRequest, default_study
from netlab.search.autotune.run import CLOSING_S, autotune
from netlab.search.autotune.search import NO_CONCLUSION
from netlab.search.screen.commands import CHARTS, YAML, _check_ending

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
    loaded = default_study() if study is None else loading.load_measurable(study)
    ask = SearchRequest(study=loaded, path=path, given=given, **asked)
    target = output or (results or paths.results_dir("autotune")) / f"{loaded.name}-{path}.yml"
    _check_replaced(target)
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
