"""``netlab compare``: two campaigns, results or levels of a factor, cell by cell."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import CONDITION_MET, guarded

if TYPE_CHECKING:
    from netlab.analysis.gate import Condition
    from netlab.analysis.sides import SidesCompared

FORMATS = ("text", "csv", "json")
SHOWN = 10
"""Cells listed for a condition that is met."""


@click.command("compare")
@click.argument("results", nargs=-1, required=True, metavar="A [B]")
@click.option("--by", default="", help="Two levels of a factor within A, such as tuning=none,full.")
@click.option(
    "--same-within",
    type=float,
    default=5.0,
    show_default=True,
    help="Two cells are the same if the whole interval lies within this, per cent.",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    help="Exit with 3 if a cell meets this condition, such as 'slower > 5 %'; repeatable.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="Output.",
)
@guarded
def compare_command(
    results: tuple[str, ...], by: str, same_within: float, conditions: tuple[str, ...], form: str
) -> None:
    """Compare goodput of B with that of A, cell by cell.

    A and B are directories of results, names of studies, or DIR@CAMPAIGN. With --by, two levels of
    a factor within A are compared. What else differs between the two sides is listed first. All
    intervals hold at once. Verdicts: slower, faster, the same (the whole interval within
    --same-within), cannot tell.

    Conditions: slower, faster, cannot tell, not the same, missing (a cell that one side lacks);
    slower > N %, faster > N %, ratio < X, ratio > X (by the whole interval). Exit code 3 if one is
    met.
    """
    from netlab.analysis.gate import Condition
    from netlab.analysis.sides import comparison

    parsed = [Condition.parse(text) for text in conditions]
    found = comparison(results, by=by, same_within_percent=same_within)
    click.echo(_output(found, form))
    if form == "csv":
        # CSV has one table; what differs must not be lost with it.
        click.echo(_differences(found), err=True)
    if _met(found, parsed):
        sys.exit(CONDITION_MET)


def _output(found: SidesCompared, form: str) -> str:
    from netlab.files.json_file import json_text
    from netlab.report import compare as output

    if form == "json":
        return json_text(output.as_json(found))
    if form == "csv":
        return output.as_frame(found).to_csv(index=False).rstrip("\n")
    return output.as_text(found)


def _differences(found: SidesCompared) -> str:
    rows = found.differences.to_dict("records")
    if not rows:
        return "netlab: no recorded condition differs besides goodput"
    return "\n".join(f"netlab: {row['item']}: A {row['a']}, B {row['b']}" for row in rows)


def _met(found: SidesCompared, conditions: list[Condition]) -> bool:
    """Print the cells that meet a condition; whether there is any."""
    any_met = False
    for condition in conditions:
        cells = condition.met_by(found.compared)
        if cells.empty:
            continue
        any_met = True
        click.echo(f"netlab: {condition.text}: {len(cells)} cells", err=True)
        for row in cells.head(SHOWN).to_dict("records"):
            click.echo(f"  {_cell(row)}", err=True)
        if len(cells) > SHOWN:
            click.echo(f"  and {len(cells) - SHOWN} more", err=True)
    return any_met


def _cell(row: dict) -> str:
    from netlab.analysis.compare import FIGURES
    from netlab.report.compare import interval, percent

    name = ", ".join(f"{key}={value}" for key, value in row.items() if key not in FIGURES)
    if "ratio" not in row:
        return name
    return f"{name}: {percent(row['ratio'])} % ({interval(row['low'], row['high'])})"
