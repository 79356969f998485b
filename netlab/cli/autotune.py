"""``netlab autotune``: find the best setting of a path within a budget."""

from __future__ import annotations

import time
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option
from netlab.cli.validation import load_measurable
from netlab.errors import BadInput, NetlabError

CHARTS = (".svg", ".png")
CHART_S = 3.0
"""Part of the budget reserved for drawing."""


@click.command("autotune")
@click.argument("path", default="lab")
@click.option("--study", help="Study file or name. Default: two hosts of the lab.")
@click.option(
    "--for",
    "aim",
    type=click.Choice(["goodput", "cpu"]),
    default="goodput",
    show_default=True,
    help="Highest goodput, or least CPU time per byte of both hosts.",
)
@click.option(
    "--seconds", type=float, default=120.0, show_default=True, help="Budget of the search."
)
@click.option(
    "--direction",
    type=click.Choice(["->", "<->"]),
    help="One way or both. Default: as in the study's group.",
)
@click.option("--sender", help="Host that sends. Default: as in the study's group.")
@click.option("--tuning", help="Apply this tuning of the study to both hosts.")
@click.option("--mtu", "mtu_B", type=int, help="Set this MTU at both ends.")
@click.option(
    "--record-length", "record_length_B", multiple=True, type=int, help="B to try; repeatable."
)
@click.option(
    "--buffer",
    "buffer_B",
    multiple=True,
    type=int,
    help="Socket buffer to try, B; 0: the kernel's; repeatable.",
)
@click.option("--streams", multiple=True, type=int, help="Streams to try; repeatable.")
@click.option(
    "--engines",
    type=click.Choice(["same", "all"]),
    default="same",
    show_default=True,
    help="all: also try to send and receive without copying every byte.",
)
@click.option(
    "--noisy", is_flag=True, help="Use runs with steal, foreign load or a late emulator too."
)
@click.option("--seed", type=int, help="Seed of the shuffled order. Default: the study's.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="YAML file for the winner, JSON beside it. Default: STUDY-PATH.yml in --results.",
)
@results_option(place="autotune")
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
    results: Path | None,
    chart: Path | None,
    **asked: object,
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
    output. Files: the winner as keys of a study (YAML), and every run (JSON). Exit code 1 if the
    budget allows no conclusion.
    """
    given = {"record_length_B": record_length_B, "buffer_B": buffer_B, "streams": streams}
    given = {name: levels for name, levels in given.items() if levels}
    began_s = time.monotonic()
    for key, file, suffixes in (("chart", chart, CHARTS), ("output", output, (".yml", ".yaml"))):
        if file is not None and file.suffix.lower() not in suffixes:
            raise BadInput(
                f"must end in {' or '.join(suffixes)}", key=key, value=str(file), code="E-CLI-001"
            )
    _autotune(began_s, path, study, {**asked, "given": given}, output, results, chart)


def _autotune(
    began_s: float,
    path: str,
    study: str | None,
    asked: dict,
    output: Path | None,
    results: Path | None,
    chart: Path | None,
) -> None:
    from netlab.autotune.request import SearchRequest, default_study
    from netlab.files import paths

    loaded = default_study() if study is None else load_measurable(study)
    ask = SearchRequest(study=loaded, path=path, **asked)
    # Import what takes long after the options are validated.
    from netlab.autotune.race import NO_CONCLUSION
    from netlab.autotune.report import as_json, conclusion, table, to_text, write_fragment
    from netlab.autotune.run import CLOSING_S, autotune
    from netlab.files.json_file import write_json

    if chart is not None:
        from netlab.charts.autotune import save_chart, search_alt, search_panels
    tuned = autotune(
        ask,
        began_s=began_s,
        closing_s=CLOSING_S + (CHART_S if chart is not None else 0.0),
        say=lambda line: click.echo(f"netlab: {line}", err=True),
    )
    target = output or (results or paths.results_dir("autotune")) / f"{loaded.name}-{path}.yml"
    document = write_json(target.with_suffix(".json"), as_json(tuned))
    concluded = tuned.outcome.verdict != NO_CONCLUSION
    if concluded:
        write_fragment(tuned, target, document.name)
    click.echo(to_text(tuned))
    frame = table(tuned)
    if chart is not None and len(frame):
        drawn = search_panels(frame, conclusion(tuned))
        click.echo(save_chart(drawn.figure, chart, search_alt(frame)))
    if not concluded:
        raise NetlabError(
            f"no conclusion within {ask.seconds:g} s; every run is in {document}", code="E-CLI-002"
        )
    click.echo(target)
