"""``netlab autotune``: search, and write what was found."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import click

from netlab.charts.chart import show
from netlab.cli import loading, options
from netlab.errors import BadInput, NetlabError
from netlab.files import paths
from netlab.files.bounded_json import read_json
from netlab.files.writing import write_json
from netlab.search.autotune.charts import search_panels
from netlab.search.autotune.report import as_json, conclusion, table, to_text, write_fragment
from netlab.search.autotune.request import SearchRequest, default_study
from netlab.search.autotune.run import CLOSING_S, autotune
from netlab.search.autotune.search import NO_CONCLUSION
from netlab.search.endings import CHARTS, YAML, check_ending

CHART_S = 3.0
"""Part of the budget reserved for drawing."""


def search(
    path: str,
    study: str | None,
    output: Path | None,
    results: Path | None,
    chart: Path | None,
    **asked: Any,
) -> None:
    began_s = time.monotonic()
    replaced = ("record_length_B", "buffer_B", "streams")
    given = {name: levels for name in replaced if (levels := asked.pop(name))}
    for key, file, endings in (("chart", chart, CHARTS), ("output", output, YAML)):
        check_ending(key, file, endings, code="E-CLI-001")
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
