"""``netlab fleet report | cells | compare | status | links``: questions to results of fleets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from netlab.charts.chart import show
from netlab.cli import options
from netlab.files import paths
from netlab.files.frame_text import frame_text
from netlab.files.tables import csv_of
from netlab.files.writing import write_text
from netlab.fleet.links import asymmetric, require_links
from netlab.fleet.records import Stores, stores_below
from netlab.fleet.status import HEADS
from netlab.fleet.view import Fleet
from netlab.units import plain


def report(results: Path, site: Path | None) -> None:
    click.echo(Fleet(results).report(site).index)


def cells(
    results: tuple[Path, ...], study: str | None, confidence: float, samples: bool, **shown: Any
) -> None:
    opened = _opened(results)
    if samples:
        found = opened.samples(study)
        figures = [name for name in found if name.endswith("_MBps")]
    else:
        found = opened.cells(study, confidence=confidence)
        figures = ["goodput_MBps", "low_MBps", "high_MBps", "n_valid", "n_flagged"]
    _show(found, figures, **shown)


def compare(
    results: tuple[Path, ...],
    study: str | None,
    confidence: float,
    by: str,
    levels: tuple[str, str],
    **shown: Any,
) -> None:
    found = _opened(results).compare(by, *levels, study=study, confidence=confidence)
    found = found.iloc[(found["ratio"] - 1).abs().argsort(kind="stable")[::-1]]
    for word, count in found["verdict"].value_counts().items():
        click.echo(f"{count:7d}  {word}")
    if not found["ranked"].all():
        click.echo(f"{(~found['ranked']).sum():7d}  of these not ranked")
    _show(found, ["ratio", "low", "high", "p_holm", "verdict", "reason"], **shown)


def _opened(results: tuple[Path, ...]) -> Stores:
    return stores_below(map(paths.given_path, results))


def _show(found: pd.DataFrame, figures: list[str], csv: Path | None, most: int) -> None:
    """Print the first rows: columns that tell them apart, then figures; write all as CSV."""
    labels = ("study", "sender", "receiver", "group", "tuning", "mtu_B", "streams", "factors")
    shown = [name for name in labels if name in found and found[name].nunique() > 1]
    head = found[[*shown, *figures]].head(most)
    click.echo(frame_text(head, number=lambda value: plain(value, ".4g")))
    if len(found) > most:
        options.note(f"{most} of {len(found)} rows")
    if csv is not None:
        csv.write_text(csv_of(found), "utf-8")


def status(results: Path) -> None:
    status = Fleet(results).status
    click.echo(status.sentence)
    click.echo(options.in_columns(HEADS, *(tuple(map(str, host)) for host in status.hosts)))


def links(results: Path, csv: Path | None, chart: Path | None, most: int) -> None:
    fleet = Fleet(results)
    found = fleet.links
    if csv is not None:
        csv.write_text(csv_of(fleet.cells, float_format="%.6g"), "utf-8")
    require_links(found, fleet.runs)
    marks = asymmetric(found)
    click.echo("   goodput  link (% of the median of all links)")
    for row, marked in zip(found.head(most).itertuples(), marks, strict=False):
        star = " *" if marked else ""
        click.echo(f"{100 * row.share:8.1f} %  {row.sender} -> {row.receiver}{star}")
    for host in fleet.outlying.itertuples():
        click.echo(
            f"host {host.host} {host.role} at {100 * host.share:.1f} % of the others "
            f"({host.links} links, p {host.p:.2g})"
        )
    if chart is not None:
        write_text(chart, show(fleet.plot()).svg)
