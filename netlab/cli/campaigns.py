"""``netlab results``: campaigns of a directory of results; remove what is superseded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from netlab.cli import options
from netlab.cli.loading import load_study
from netlab.errors import BadInput, NetlabError, printable, why
from netlab.experiment.campaign_record import exclusive
from netlab.experiment.rebuilt import rebuild
from netlab.files import paths
from netlab.results import campaign_files, campaign_list
from netlab.results.campaign_files import (
    latest_directory,
    names_here,
    read_conditions,
    results_here,
)
from netlab.results.campaign_list import CampaignSummary, Pruning, planned, prune, summaries
from netlab.results.conditions import left_out
from netlab.results.flags import PAGE, counted_flags
from netlab.results.store import Store

DIGEST_CHARS = 12


HEADS = ("campaign", "started, UTC", "study", "digest", "runs", "valid", "superseded", "size")


def list_campaigns(results: str, quick: bool) -> None:
    if results:
        click.echo(options.in_columns(HEADS, *map(_row, summaries(_directory(results, quick)))))
        return
    every = results_here()
    places = [place for place in every if place.name.endswith(paths.QUICK) or not quick]
    has = ("these results" if places else "no results") + " of a short form" * quick
    if every and not places:
        has += f"; without --quick there are {', '.join(place.name for place in every)}"
    options.note(printable(f"{paths.results_root()} has {has}"))
    if rows := [*_rows_of(places)]:
        click.echo(options.in_columns(("results", *HEADS), *rows))


def _rows_of(places: Iterable[Path]) -> Iterator[tuple[str, ...]]:
    """Campaigns of several directories; one that cannot be read is named, and left out."""
    for place in places:
        try:
            yield from [(place.name, *_row(one)) for one in summaries(place)]
        except NetlabError as error:
            options.note(printable(f"left out {place.name}: {error.with_code()}"))
        except OSError as error:
            options.note(printable(f"left out {place.name}: {why(error)}"))


def show(results: str, quick: bool, campaign: str) -> None:
    directory = _directory(results, quick)
    name = (
        campaign
        or campaign_files.latest(directory)
        or campaign_list.summaries(directory)[-1].campaign
    )
    for item, value in _shown(directory, campaign_list.summary(directory, name)):
        click.echo(printable(f"{item}: {value}"))


def prune_results(results: str, quick: bool, yes: bool) -> None:
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


def repair(results: str, quick: bool) -> None:
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


def _directory(results: str, quick: bool) -> Path:
    """Directory of some results, by its path, or the name of its study or the path of its file."""
    path = paths.given_path(results)
    if path.is_file():
        named: Path | None = latest_directory(load_study(results, quick=quick).name)
    else:
        by_name = "/" not in results
        if by_name and quick and not results.endswith(paths.QUICK):
            results += paths.QUICK
        named = latest_directory(results) if by_name else None
    for place in (named, path):
        if place is not None and place.is_dir():
            return place
    text = f"no such directory, and no study's results{names_here()}"
    raise BadInput(text, value=results, code="E-CLI-021")


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
    if flags := counted_flags(Store(directory).made_by(one.campaign)["flags"]):
        yield "flags", f"{flags}; {PAGE} says what to do about each"
    yield "superseded", one.superseded
    yield "size", _size(one.size_B)
    if one.log is None:
        return
    yield "netlab", one.log.version
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
