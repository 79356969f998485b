"""``netlab compare``: two campaigns, results or levels of a factor, cell by cell."""

from __future__ import annotations

import sys

import click

from netlab.analysis.compare import FIGURES
from netlab.analysis.fail_condition import Condition
from netlab.analysis.sides import SidesCompared, comparison, comparisons
from netlab.cli import guard, options
from netlab.errors import printable
from netlab.files.tables import csv_of
from netlab.files.writing import json_text
from netlab.report import compare as output
from netlab.report import compare_all
from netlab.report.compare import folded, interval, percent

SHOWN = 10
"""Cells listed for a condition that is met."""


def compare(
    results: tuple[str, ...],
    by: str,
    same_within: float,
    repeats: tuple[str, ...],
    conditions: tuple[str, ...],
    form: str,
) -> None:
    parsed = [Condition.parse(text) for text in conditions]
    if len(results) > 2 and not by:
        every = comparisons(results, same_within_percent=same_within, repeats=repeats)
        click.echo(_output_of_all(every, form))
        met = [_met(found, parsed) for found in every]  # all of them are printed
        sys.exit(guard.CONDITION_MET if any(met) else 0)
    found = comparison(results, by=by, same_within_percent=same_within, repeats=repeats)
    click.echo(_output(found, form))
    if form == "csv":
        # CSV has one table; what differs must not be lost with it.
        shown, rest = folded(found.differences)
        for row in shown.to_dict("records"):
            options.note(f"{row['item']}: A {row['a']}, B {row['b']}")
        if rest:
            options.note(rest)
        if found.differences.empty:
            options.note("no recorded condition differs besides goodput")
    if _met(found, parsed):
        sys.exit(guard.CONDITION_MET)


def _output(found: SidesCompared, form: str) -> str:
    if form == "json":
        return json_text(output.as_json(found))
    if form == "csv":
        return csv_of(output.as_frame(found)).rstrip("\n")
    return output.as_text(output.tables(found))


def _output_of_all(every: list[SidesCompared], form: str) -> str:
    if form == "json":
        return json_text(compare_all.json_of_all(every))
    if form == "csv":
        return csv_of(compare_all.frame_of_all(every)).rstrip("\n")
    return output.as_text(compare_all.tables_of_all(every))


def _met(found: SidesCompared, conditions: list[Condition]) -> bool:
    """Print the cells that meet a condition; whether there is any."""
    met = [(each.text, each.met_by(found.compared)) for each in conditions]
    met = [(text, cells) for text, cells in met if len(cells)]
    for text, cells in met:
        options.note(f"{text}: {len(cells)} cells")
        for row in cells.head(SHOWN).to_dict("records"):
            click.echo(printable(f"  {_cell(row)}"), err=True)
        if len(cells) > SHOWN:
            click.echo(f"  and {len(cells) - SHOWN} more", err=True)
    return bool(met)


def _cell(row: dict) -> str:
    name = ", ".join(f"{key}={value}" for key, value in row.items() if key not in FIGURES)
    if "ratio" not in row:
        return name
    return f"{name}: {percent(row['ratio'])} % ({interval(row['low'], row['high'])})"
