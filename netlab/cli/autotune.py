"""``netlab autotune``: the best setting of a path, found within a budget."""

from __future__ import annotations

import time
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput, NetlabError

CHARTS = (".svg", ".png")
CHART_S = 3.0
"""Kept back of the budget for drawing."""


@click.command("autotune")
@click.argument("path", default="lab")
@click.option("--study", help="Study file or name; two hosts of the lab when left out.")
@click.option(
    "--for",
    "aim",
    type=click.Choice(["goodput", "cpu"]),
    default="goodput",
    show_default=True,
    help="Highest goodput, or least CPU time per byte of both hosts.",
)
@click.option("--seconds", type=float, default=120.0, show_default=True, help="For everything.")
@click.option(
    "--direction",
    type=click.Choice(["->", "<->"]),
    help="One way or both; as the study's group when left out.",
)
@click.option("--sender", help="The end that sends; as the study's group when left out.")
@click.option("--tuning", help="A tuning of the study to hold both hosts at meanwhile.")
@click.option("--mtu", "mtu_B", type=int, help="MTU to hold both ends at meanwhile.")
@click.option("--record-length", "record_length_B", multiple=True, type=int, help="Repeatable.")
@click.option("--buffer", "buffer_B", multiple=True, type=int, help="0: the kernel's; repeatable.")
@click.option("--streams", multiple=True, type=int, help="Repeatable.")
@click.option(
    "--engines",
    type=click.Choice(["same", "all"]),
    default="same",
    show_default=True,
    help="all: also ways to send and receive that do not copy every byte.",
)
@click.option(
    "--noisy", is_flag=True, help="Count runs that met steal, foreign load or a late emulator."
)
@click.option("--seed", type=int, help="Of the shuffled order; the study's when left out.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file for the winner, JSON beside it; under data/results/autotune when left out.",
)
@click.option(
    "--chart",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw the search into this .svg or .png.",
)
@guarded
def autotune_command(
    path: str,
    study: str | None,
    record_length_B: tuple[int, ...],
    buffer_B: tuple[int, ...],
    streams: tuple[int, ...],
    output: Path | None,
    chart: Path | None,
    **asked: object,
) -> None:
    """Find the best record length, socket buffer, streams and engine of PATH.

    PATH is a path's name in the study; "lab" and no study is an unshaped path between two lab
    hosts. The search starts from what the study has for the path: record length and buffer of its
    group, the first of its stream counts.

    Candidates race in shuffled rounds of short runs, one factor at a time; one leaves as soon as
    the interval of its difference to the leader says that it is worse. A last race holds the best
    few against what you had, and "no better than what you had" is an answer. Flagged runs do not
    count and are repeated as time allows.

    Of --record-length, --buffer and --streams, those given are tried in place of netlab's own
    levels, beside the present one. The budget of --seconds is for everything; where a host hangs,
    the end may come up to 30 s after it. Each round is told on standard error, the table and the
    conclusion on standard output. Written are the winner as keys of a study (YAML) and every run
    (JSON). Exit code 1 if the budget allows no conclusion.
    """
    given = {"record_length_B": record_length_B, "buffer_B": buffer_B, "streams": streams}
    given = {name: levels for name, levels in given.items() if levels}
    _autotune(time.monotonic(), path, study, {**asked, "given": given}, output, chart)


def _autotune(
    began_s: float,
    path: str,
    study: str | None,
    asked: dict,
    output: Path | None,
    chart: Path | None,
) -> None:
    if chart is not None and chart.suffix.lower() not in CHARTS:
        raise BadInput(f"ends in {' or '.join(CHARTS)}", key="chart", value=str(chart))
    if output is not None and output.suffix.lower() not in (".yml", ".yaml"):
        raise BadInput("ends in .yml or .yaml", key="output", value=str(output))
    from netlab.autotune.request import SearchRequest, default_study
    from netlab.files import paths
    from netlab.study import load

    loaded = default_study() if study is None else load(paths.study_file(study))
    ask = SearchRequest(study=loaded, path=path, **asked)
    # What takes long to import comes after what the user may have got wrong.
    from netlab.autotune.race import NO_CONCLUSION
    from netlab.autotune.report import as_json, conclusion, table, to_text, write_fragment
    from netlab.autotune.run import CLOSING_S, autotune
    from netlab.files.json_file import write_json

    if chart is not None:
        from netlab.charts.autotune import save_chart, search_alt, search_figure
    tuned = autotune(
        ask,
        began_s=began_s,
        closing_s=CLOSING_S + (CHART_S if chart is not None else 0.0),
        say=lambda line: click.echo(f"netlab: {line}", err=True),
    )
    target = output or paths.results_dir("autotune") / f"{loaded.name}-{path}.yml"
    document = write_json(target.with_suffix(".json"), as_json(tuned))
    concluded = tuned.outcome.verdict != NO_CONCLUSION
    if concluded:
        write_fragment(tuned, target, document.name)
    click.echo(to_text(tuned))
    frame = table(tuned)
    if chart is not None and len(frame):
        click.echo(save_chart(search_figure(frame, conclusion(tuned)), chart, search_alt(frame)))
    if not concluded:
        raise NetlabError(f"no conclusion within {ask.seconds:g} s; every run is in {document}")
    click.echo(target)
