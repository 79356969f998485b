"""Commands on results: their directories, and comparison."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli import options
from netlab.cli.main import main
from netlab.errors import BadInput, NetlabError, printable
from netlab.files import paths
from netlab.files.writing import json_text

if TYPE_CHECKING:
    from netlab.analysis.sides import Condition, SidesCompared
    from netlab.results.store import CampaignSummary, Pruning


# ``netlab results``: campaigns of a directory of results; remove what is superseded.

DIGEST_CHARS = 12
HEADS = ("campaign", "started, UTC", "study", "digest", "runs", "valid", "superseded", "size")

given_argument = options.together(
    click.argument("results", metavar="RESULTS"), options.quick_option
)


@main.group("results")
def results_group() -> None:
    """List, show, prune and repair the campaigns of a directory of results.

    RESULTS is a directory, or the name of a study or the path of its file.
    """


@results_group.command("list")
@given_argument
def list_command(results: str, quick: bool) -> None:
    """List the campaigns of RESULTS, oldest first.

    A later campaign supersedes the records of an earlier one, and deletes none.
    """
    from netlab.results.store import summaries

    click.echo(options.in_columns(HEADS, *map(_row, summaries(_directory(results, quick)))))


@results_group.command("show")
@given_argument
@click.argument("campaign", default="")
def show_command(results: str, quick: bool, campaign: str) -> None:
    """Show one campaign of RESULTS; the latest unless CAMPAIGN names another."""
    from netlab.results import store

    directory = _directory(results, quick)
    name = campaign or store.latest(directory) or store.summaries(directory)[-1].campaign
    for item, value in _shown(directory, store.summary(directory, name)):
        click.echo(printable(f"{item}: {value}"))


@results_group.command("prune")
@given_argument
@click.option("--yes", is_flag=True, help="Remove without asking.")
def prune_command(results: str, quick: bool, yes: bool) -> None:
    """Remove superseded records of RESULTS and their notebooks, never what counts.

    Every file that goes is listed first. Without --yes it asks.
    """
    from netlab.experiment.campaign import exclusive
    from netlab.results.store import planned, prune

    directory = _directory(results, quick)
    with exclusive(directory):
        plan = planned(directory)
        click.echo(_announced(plan))
        if not plan.files:
            return
        if not yes and not click.confirm("Remove them?", err=True):
            options.note("no file was removed")
            return
        prune(plan)
    options.note(f"{plan.records} superseded records removed")


@results_group.command("repair")
@given_argument
def repair_command(results: str, quick: bool) -> None:
    """Rename damaged files of RESULTS, so that what they held is measured again.

    Each then lies beside the others as FILE.damaged. A campaign's lost conditions.json is made
    again from the facts that its records hold.
    """
    from netlab.experiment.campaign import exclusive
    from netlab.experiment.conditions import rebuild
    from netlab.results.store import Store

    directory = _directory(results, quick)
    with exclusive(directory):
        for path, aside in Store(directory).repair().items():
            click.echo(printable(f"{path.relative_to(directory)} -> {aside.name}"))
        made = rebuild(directory)
        for path, found in made.items():
            name, lost = path.relative_to(directory), isinstance(found, NetlabError)
            text = f"not made again: {found}" if lost else "made again from the records"
            click.echo(printable(f"{name}: {text}"), err=lost)
    if any(isinstance(found, NetlabError) for found in made.values()):
        sys.exit(1)


def _directory(given: str, quick: bool) -> Path:
    """Directory of some results, by its path, or the name of its study or the path of its file."""
    from netlab.results.store import measured_directory, names_here

    path = paths.given_path(given)
    if path.is_file():
        named: Path | None = measured_directory(options.load_study(given, quick=quick).name)
    else:
        name = given + paths.QUICK if quick else given
        named = measured_directory(name) if "/" not in given else None
    for place in (named, path):
        if place is not None and place.is_dir():
            return place
    text = f"no such directory, and no study's results{names_here()}"
    raise BadInput(text, value=given, code="E-CLI-021")


def _row(one: CampaignSummary) -> tuple[str, ...]:
    study = (one.study, one.study_digest[:DIGEST_CHARS])
    counts = map(str, (one.runs, one.valid, one.superseded))
    started = one.started_at[:19].replace("T", " ")
    return (one.campaign, started, *study, *counts, _size(one.size_B))


def _size(size_B: int) -> str:
    return f"{size_B / 1e6:.1f} MB" if size_B >= 1e5 else f"{size_B / 1e3:.1f} kB"


def _shown(directory: Path, one: CampaignSummary) -> Iterator[tuple[str, object]]:
    yield from (("campaign", one.campaign), ("results", directory), ("started", one.started_at))
    yield from (("study", one.study), ("study digest", one.study_digest))
    yield "runs", f"{one.runs}, of which {one.valid} valid"
    yield "superseded", one.superseded
    yield "size", _size(one.size_B)
    if one.log is None:
        return
    yield "netlab", one.log.version
    from netlab.results.conditions import left_out
    from netlab.results.store import Store, read_conditions

    conditions = read_conditions(directory, one.campaign)
    if conditions is None:
        yield "adopted from earlier campaigns", sum(map(len, one.log.adopted.values()))
    else:
        yield "cells with known conditions", len(conditions.keys)
    for other in left_out(Store(directory), one.campaign):
        yield f"of campaign {other.campaign or 'before'}", other
    for look in one.log.looks:
        text = ", ".join(f"{key} {value}" for key, value in look.items() if key != "round")
        yield f"after round {look['round']}", text


def _announced(plan: Pruning) -> str:
    stays = f"{plan.kept} superseded records stay beside records that count.\n" * (plan.kept > 0)
    if not plan.files:
        return f"{stays}Nothing to remove."
    files = "".join(
        f"  {printable(str(file.relative_to(plan.directory)))}\n" for file in plan.files
    )
    head = f"{plan.records} superseded records in {len(plan.parts)} parts, {len(plan.files)} files"
    return f"{head}, {_size(plan.size_B)}:\n{files}{stays}".rstrip("\n")


# ``netlab compare``: two campaigns, results or levels of a factor, cell by cell.

FORMATS = ("text", "csv", "json")
SHOWN = 10
"""Cells listed for a condition that is met."""


@main.command("compare")
@click.argument("results", nargs=-1, required=True, metavar="A [B ...]")
@options.text_option("--by", help="Two levels of a factor within A, such as tuning=none,full.")
@click.option(
    "--same-within",
    type=float,
    default=5.0,
    help="Two cells are the same if the whole interval lies within this, per cent.",
)
@options.levels_option(
    "--repeat",
    "repeats",
    help="A further campaign under the conditions of A, for the shift between campaigns; at least "
    "two.",
)
@options.levels_option(
    "--fail-if",
    "conditions",
    help="Exit with 3 if a cell meets this condition, such as 'slower > 5 %'; repeatable.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="Output.")
def compare_command(
    results: tuple[str, ...],
    by: str,
    same_within: float,
    repeats: tuple[str, ...],
    conditions: tuple[str, ...],
    form: str,
) -> None:
    """Compare goodput of B, and of further results, with that of A, cell by cell.

    Each is compared with A, the reference; the intervals and tests of all are one family. They are
    directories of results, names of studies, or DIR@CAMPAIGN. With --by, two levels of
    a factor within A are compared. What else differs between the two sides is listed first. All
    intervals hold at once. Verdicts: slower, faster, the same (the whole interval within
    --same-within), cannot tell (an interval too wide), no interval (below three rounds).

    Verdicts on two campaigns are between campaigns: a shift from one to the other is in the ratio.
    --repeat, given twice or more, estimates that shift, and no smaller difference is decided.

    Conditions: slower, faster, cannot tell (no interval included), no interval, not the same,
    missing (a cell that one side lacks); slower > N %, faster > N %, ratio < X, ratio > X (by the
    whole interval). Exit code 3 if one is met.
    """
    from netlab.analysis.sides import Condition, comparison, comparisons

    parsed = [Condition.parse(text) for text in conditions]
    if len(results) > 2 and not by:
        every = comparisons(results, same_within_percent=same_within, repeats=repeats)
        click.echo(_output_of_all(every, form))
        met = [_met(found, parsed) for found in every]  # all of them are printed
        sys.exit(options.CONDITION_MET if any(met) else 0)
    found = comparison(results, by=by, same_within_percent=same_within, repeats=repeats)
    click.echo(_output(found, form))
    if form == "csv":
        # CSV has one table; what differs must not be lost with it.
        from netlab.report.compare import folded

        shown, rest = folded(found.differences)
        for row in shown.to_dict("records"):
            options.note(f"{row['item']}: A {row['a']}, B {row['b']}")
        if rest:
            options.note(rest)
        if found.differences.empty:
            options.note("no recorded condition differs besides goodput")
    if _met(found, parsed):
        sys.exit(options.CONDITION_MET)


def _output(found: SidesCompared, form: str) -> str:
    from netlab.files.tables import csv_of
    from netlab.report import compare as output

    if form == "json":
        return json_text(output.as_json(found))
    if form == "csv":
        return csv_of(output.as_frame(found)).rstrip("\n")
    return output.as_text(output.tables(found))


def _output_of_all(every: list[SidesCompared], form: str) -> str:
    from netlab.files.tables import csv_of
    from netlab.report import compare as output

    if form == "json":
        return json_text(output.json_of_all(every))
    if form == "csv":
        return csv_of(output.frame_of_all(every)).rstrip("\n")
    return output.as_text(output.tables_of_all(every))


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
    from netlab.analysis.compare import FIGURES
    from netlab.report.compare import interval, percent

    name = ", ".join(f"{key}={value}" for key, value in row.items() if key not in FIGURES)
    if "ratio" not in row:
        return name
    return f"{name}: {percent(row['ratio'])} % ({interval(row['low'], row['high'])})"
