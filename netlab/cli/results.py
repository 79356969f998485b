"""``netlab results``: campaigns of a directory of results; remove what is superseded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from netlab.results.prune import CampaignSummary, Pruning

DIGEST_CHARS = 12
HEADS = ("campaign", "started, UTC", "study", "digest", "runs", "valid", "superseded", "size")

given_argument = click.argument("results", metavar="RESULTS")


@click.group("results")
def results_group() -> None:
    """List, show and prune the campaigns of a directory of results.

    RESULTS is a directory, or the name of a study.
    """


@results_group.command("list")
@given_argument
@guarded
def list_command(results: str) -> None:
    """List the campaigns of RESULTS, oldest first.

    A later campaign supersedes the records of an earlier one, and deletes none.
    """
    from netlab.results.prune import summaries

    rows = [HEADS, *map(_row, summaries(_directory(results)))]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEADS))]
    for row in rows:
        click.echo("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)))


@results_group.command("show")
@given_argument
@click.argument("campaign", default="")
@guarded
def show_command(results: str, campaign: str) -> None:
    """Show one campaign of RESULTS; the latest unless CAMPAIGN names another."""
    from netlab.results import campaigns
    from netlab.results.prune import summaries, summary

    directory = _directory(results)
    name = campaign or campaigns.latest(directory) or summaries(directory)[-1].campaign
    found = summary(directory, name)
    for item, value in _shown(directory, found):
        click.echo(f"{item}: {value}")


@results_group.command("prune")
@given_argument
@click.option("--yes", is_flag=True, help="Remove without asking.")
@guarded
def prune_command(results: str, yes: bool) -> None:
    """Remove superseded records of RESULTS and their notebooks, never what counts.

    Every file that goes is listed first. Without --yes it asks.
    """
    from netlab.experiment.record import exclusive
    from netlab.results.prune import planned, prune

    directory = _directory(results)
    with exclusive(directory):
        plan = planned(directory)
        click.echo(_announced(plan))
        if not plan.files:
            return
        if not yes and not click.confirm("Remove them?", err=True):
            click.echo("netlab: no file was removed", err=True)
            return
        prune(plan)
    click.echo(f"netlab: {plan.records} superseded records removed", err=True)


def _directory(given: str) -> Path:
    """Directory of some results, by its path or the name of its study."""
    from netlab.files import paths

    named = paths.results_dir(given) if "/" not in given else None
    for place in (named, paths.given_path(given)):
        if place is not None and place.is_dir():
            return place
    raise BadInput("no such directory, and no study's results", value=given, code="E-CLI-021")


def _row(one: CampaignSummary) -> tuple[str, ...]:
    return (
        one.campaign,
        one.started_at[:19].replace("T", " "),
        one.study,
        one.study_digest[:DIGEST_CHARS],
        str(one.runs),
        str(one.valid),
        str(one.superseded),
        _size(one.size_B),
    )


def _size(size_B: int) -> str:
    return f"{size_B / 1e6:.1f} MB" if size_B >= 1e5 else f"{size_B / 1e3:.1f} kB"


def _shown(directory: Path, one: CampaignSummary) -> list[tuple[str, object]]:
    items: list[tuple[str, object]] = [
        ("campaign", one.campaign),
        ("results", directory),
        ("started", one.started_at),
        ("study", one.study),
        ("study digest", one.study_digest),
        ("runs", f"{one.runs}, of which {one.valid} valid"),
        ("superseded", one.superseded),
        ("size", _size(one.size_B)),
    ]
    if one.log is None:
        return items
    adopted = sum(map(len, one.log.adopted.values()))
    items += [("netlab", one.log.version), ("adopted from earlier campaigns", adopted)]
    items += [(f"host {host}", digest) for host, digest in sorted(one.log.hosts.items())]
    for look in one.log.looks:
        text = ", ".join(f"{key} {value}" for key, value in look.items() if key != "round")
        items.append((f"after round {look['round']}", text))
    return items


def _announced(plan: Pruning) -> str:
    """Text that says what goes and what stays."""
    stays = f"{plan.kept} superseded records stay beside records that count.\n" * (plan.kept > 0)
    if not plan.files:
        return f"{stays}Nothing to remove."
    lines = [f"  {file.relative_to(plan.directory)}" for file in plan.files]
    head = (
        f"{plan.records} superseded records in {len(plan.parts)} parts, "
        f"{len(plan.files)} files, {_size(plan.size_B)}:"
    )
    return "\n".join([head, *lines]) + f"\n{stays}".rstrip("\n")
