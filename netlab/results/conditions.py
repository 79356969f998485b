"""Conditions that differ between campaigns, in words, and the records left out for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.errors import NetlabError
from netlab.results import campaign_files
from netlab.results.campaign_files import Conditions, campaign_of
from netlab.results.store import Store

WORDS = {
    "net.ipv4.tcp_congestion_control": "congestion control",
    "mtu_B": "MTU in B",
    "version": "netlab",
    "agent": "netlab's C core",
    "schema": "schema of the results",
    "rule": "netlab's rule of equal conditions",
    "emulated_with": "emulator",
    "cpu_model": "CPU",
    "nic_driver": "driver of the card",
    "nic_firmware": "firmware of the card",
}
SHOWN, LONGEST = 3, 40
"""Differences named one by one, and the longest value in characters that is printed."""


@dataclass(frozen=True)
class Difference:
    label: str
    before: str
    now: str

    def change(self) -> str:
        """``congestion control bbr, now reno``."""
        if max(len(self.before), len(self.now)) > LONGEST:
            return f"{self.label} (changed)"
        return f"{self.label} {self.before or 'unknown'}, now {self.now or 'unknown'}"

    def as_before(self) -> str:
        """``congestion control bbr``."""
        long = len(self.before) > LONGEST
        return f"another {self.label}" if long else f"{self.label} {self.before or 'unknown'}"


def differing(before: Conditions, now: Conditions) -> tuple[Difference, ...]:
    """Differences of the blocks that both have, each once; those of a host without its name."""
    found: dict[tuple[str, str, str], Difference] = {}
    for block in sorted(set(before.contexts) & set(now.contexts)):
        # a context without its rule is of the first
        contexts = ({"rule": 1, **side.contexts[block]} for side in (before, now))
        olds, news = (dict(_leaves(context)) for context in contexts)
        for label in sorted(olds.keys() | news.keys()):
            old, new = olds.get(label, ""), news.get(label, "")
            if old != new:
                name = _named(label)
                found.setdefault((name, old, new), Difference(name, old, new))
    return tuple(found.values())


def _named(place: tuple[str, ...]) -> str:
    if "generators" in place:  # then the tool, and the host that has this version of it
        return place[place.index("generators") + 1]
    return WORDS.get(place[-1], place[-1])


def apart(before: Conditions, now: Conditions) -> tuple[Difference, ...]:
    """Differences of the links that two studies share, whatever tunings they compare."""
    sides = [_of_links(side) for side in (before, now)]
    found: dict[str, Difference] = {}
    for place in sorted(sides[0].keys() & sides[1].keys()):
        old, new = (side[place] for side in sides)
        if old.isdisjoint(new):
            name = _named(place)
            found.setdefault(name, Difference(name, min(old), min(new)))
    return tuple(found.values())


def _of_links(conditions: Conditions) -> dict[tuple[str, ...], set[str]]:
    """Values of each link: versions, machines, and the settings that any of its blocks leaves."""
    values: dict[tuple[str, ...], set[str]] = {}
    for block, context in conditions.contexts.items():
        shared = {name: part for name, part in context.items() if name != "profiles"}
        for place, value in _leaves({"rule": 1, **shared}):
            values.setdefault((block.partition("@")[0], *place), set()).add(value)
    return values


def _leaves(
    context: Mapping[str, object], place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, value in context.items():
        if isinstance(value, dict) and place[:1] != ("profiles",):
            yield from _leaves(value, (*place, name))
        elif place[:1] == ("profiles",):  # the whole tuning of a host is one thing
            yield (*place, f"tuning of {name}"), json.dumps(value, sort_keys=True)
        else:
            yield (*place, name), _text(value)


def _text(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def listed(texts: list[str]) -> str:
    """``a, b and 3 more``."""
    shown = ", ".join(islice(texts, SHOWN))
    return f"{shown} and {len(texts) - SHOWN} more" if len(texts) > SHOWN else shown


def changes(before: Conditions, now: Conditions) -> str:
    """The differences as one text: what each was, and what it is now."""
    return listed([one.change() for one in differing(before, now)])


@dataclass(frozen=True)
class LeftOut:
    """Records of one campaign that do not count in another, for one reason."""

    campaign: str
    measured_on: datetime
    runs: int
    is_gone: bool
    """True if the study does not have their cells."""
    _reason: Callable[[], str] = field(repr=False, compare=False)

    @property
    def reason(self) -> str:
        """Why they do not count; made when asked for, as it reads the conditions of a campaign."""
        return self._reason()

    def __str__(self) -> str:
        runs = f"{self.runs} {'run' if self.runs == 1 else 'runs'}"
        return f"measured on {self.measured_on:%-d %B %Y} {self.reason}, {runs}; not counted"


def left_out(store: Store, campaign: str | None) -> tuple[LeftOut, ...]:
    """Records that do not count in a campaign, by campaign, oldest first.

    Made under other conditions, or in cells that its study does not have.
    """
    now = campaign_files.read_conditions(store.directory, campaign)
    if now is None:
        return ()
    records = store.records(campaign=campaign, only=("provenance_key", "block_id"))
    records = records[~records["part"].str.startswith(campaign_files.IMPORTED)]
    wanted = now.planned(records["run_id"])
    cell = records["run_id"].str.replace("@[^@]*$", "", regex=True)
    # a search has runs of its own, in a cell that may have other conditions now
    searched = {run for trials in now.trials.values() for run in trials}
    has_cell = cell.isin(now.keys) | records["run_id"].isin(searched)
    # of a block that was not asked under these conditions no cell is known
    asked = records["block_id"].isin(now.contexts)
    other = records.assign(cell=cell.where(asked & ~has_cell, ""))
    other = other[(records["provenance_key"] != wanted).fillna(True).astype(bool)]
    origin = other["part"].astype(str).map(campaign_of)
    found = []
    for (of, gone), rows in other.groupby([origin, other["cell"] != ""], sort=True):
        if gone:
            reason = partial(_of_cells, rows["cell"])
        elif of == campaign:
            reason = partial(_of_settings, lambda: "changed while the campaign was measured")
        else:
            reason = partial(_of_settings, partial(of_another, store.directory, str(of), now))
        first = pd.Timestamp(rows["started_at"].min()).to_pydatetime()
        found.append(LeftOut(str(of), first, int(rows["run_id"].nunique()), bool(gone), reason))
    return tuple(found)


def _of_cells(cells: pd.Series) -> str:
    return f"in cells that the study does not have: {listed(sorted(cells.unique()))}"


def _of_settings(difference: Callable[[], str]) -> str:
    return f"under other settings: {difference()}"


def of_another(directory: Path, campaign: str, now: Conditions) -> str:
    """Differences of another campaign's conditions, in words."""
    try:
        before = campaign_files.read_conditions(directory, campaign or None)
    except NetlabError:
        return "unknown (its conditions.json is lost)"
    if before is None:
        return "those of an older netlab"
    return listed([one.as_before() for one in differing(before, now)]) or "another study file"
