"""Answers of a study: its result in five sentences, and the agreement of its generators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.cells import valid
from netlab.analysis.compare import FIGURES, VERDICTS, compare_pairs, usable
from netlab.analysis.effects import CANNOT_TELL
from netlab.analysis.findings import DOES_NOT_HOLD, HOLDS
from netlab.analysis.longpath_study import on_long_path
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import Machines, counted, machines
from netlab.errors import BadInput
from netlab.measure.bottleneck import ASKED
from netlab.units import arrows, listed

# The result of a study in five sentences, computed from its records.

DIRECTIONS = {"->": "in one direction", "<->": "both directions together"}


@computed_once
def headline(m: Measured) -> tuple[str, ...]:
    """Sentences: measurement, machines, best results, limits, and findings on cells of 2003."""
    said = [_design(m), _machines(m), best(m), _limits(m)]
    if len(comparable(m)):
        said.append(_findings(m))
    return tuple(said)


def span(values: Sequence[int], noun: str) -> str:
    """``1 to 20 streams`` of numbers that are all in the study."""
    low, high = int(min(values)), int(max(values))
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"


def _design(m: Measured) -> str:
    runs, cells = m.runs, m.cells
    mtus = sorted({int(v) for v in cells["mtu_B"] if v})
    labels = list(printed.tuning_labels(cells, m.study).values())
    rounds = runs.groupby("run_id")["round"].first()
    started = runs["started_at"]
    when = f"{started.min():%Y-%m-%d}"
    if f"{started.max():%Y-%m-%d}" != when:
        when += f" to {started.max():%Y-%m-%d}"
    tunings = f"{counted(len(labels), 'tuning')} ({listed(labels)})"
    frames = f"MTU {listed(mtus)} B" if mtus else "an unknown MTU"
    return (
        f"{counted(len(cells), 'cell')} in {counted(len(m.groups), 'group')} of host pairs: "
        f"{tunings}, {frames}, {span(cells['streams'], 'TCP stream')}; "
        f"{counted(len(runs), 'run')} of {m.study.timing.seconds:g} s in up to "
        f"{counted(int(rounds.max()), 'round')}, measured on {when}."
    )


def _machines(m: Measured) -> str:
    found = machines(m.runs, m.study)
    kinds = {m.study.hosts[end.host].kind for path in m.study.paths.values() for end in path.ends}
    parts = []
    cpus, processors = found.fact("CPUs"), found.fact("CPU")
    if processors:
        each = f"{cpus[0]} × " if len(cpus) == 1 else ""
        parts.append(each + listed(processors, "or"))
    if kernels := found.fact("kernel"):
        parts.append(f"Linux {listed(kernels)}")
    machine = ", ".join(parts) or "a machine that was not recorded"
    if kinds == {"lab"}:
        return (
            f"This is netlab's emulated lab, not hardware: {counted(len(m.study.hosts), 'host')} "
            f"as network namespaces of one machine ({machine}), with modelled buses and links."
            + _without_root(found)
        )
    drivers = found.fact("NIC driver")
    cards = f"; network cards with driver {listed(drivers)}" if drivers else ""
    return f"The hosts {listed(m.study.hosts)} are real machines: {machine}{cards}."


def _without_root(found: Machines) -> str:
    """A sentence on a lab in a user namespace, with a leading blank; empty for a lab of root."""
    values = found.shared.loc[found.shared["item"] == "user_namespace", "value"]
    if not values.str.contains("True").any():
        return ""
    which = "of some runs " if values.str.contains("False").any() else ""
    return (
        f" The lab {which}was made without root and defers no interrupts; Precision and flags "
        "lists what it lacks."
    )


def best(m: Measured) -> str:
    """The highest goodput in each direction, and where it was reached."""
    highest = printed.best(m.cells, m.study)
    if m.cells["goodput_MBps"].isna().all():
        return "No cell has a valid run, so none is called the best."
    if highest.empty:
        return "No cell is precise enough to be called the best."
    labels = printed.tuning_labels(m.cells, m.study)
    parts = []
    for direction, words in DIRECTIONS.items():
        of = highest[highest["direction"] == direction]
        if of.empty:
            continue
        cell = of.loc[of["goodput_MBps"].idxmax()]
        where = (
            f"{arrows(cell.group)}, {labels[cell.tuning]}, {cell.mtu_B} B, "
            f"{counted(int(cell.streams), 'stream')}"
        )
        if cell.bottleneck == ASKED:
            where += f"; {ASKED}"
        parts.append(f"{words} {_goodput(m, cell)} ({where})")
    return f"Highest goodput: {'; '.join(parts)}."


def _goodput(m: Measured, cell: pd.Series) -> str:
    factor, unit = (8.0, "Mb/s") if on_long_path(m) else (1.0, "MB/s")
    value = printed.with_interval(*(factor * cell[c] for c in _INTERVAL))
    if math.isnan(cell.percent_of_bus):
        return f"{value} {unit}"
    twice = cell.direction == "<->" and not m.study.bus_shared(cell.path)
    ceiling = "twice the bus" if twice else "the bus"
    return f"{value} {unit}, {cell.percent_of_bus:.0f} % of {ceiling}"


_INTERVAL = ("goodput_MBps", "low_MBps", "high_MBps")


@dataclass(frozen=True)
class Tile:
    """One figure of a study: what it is, its value, and what it is of."""

    what: str
    value: str
    of: str
    cell: dict | None = None
    """The cell that it is the goodput of."""


def tiles(m: Measured) -> tuple[Tile, ...]:
    """The best goodput, the main limit, and findings of 2003 or runs that count."""
    return (_best_tile(m), _limit_tile(m), _held_tile(m))


def _best_tile(m: Measured) -> Tile:
    highest = printed.best(m.cells, m.study)
    if highest.empty:
        return Tile("Highest goodput", printed.MISSING, best(m))
    cell = highest.loc[highest["goodput_MBps"].idxmax()]
    tuning = printed.tuning_labels(m.cells, m.study)[cell.tuning]
    of = f"{arrows(cell.group)}, {tuning}, {cell.mtu_B} B, {counted(int(cell.streams), 'stream')}"
    return Tile("Highest goodput", _goodput(m, cell), of, cell.to_dict())


def _limit_tile(m: Measured) -> Tile:
    counts = m.bottlenecks["bottleneck"].value_counts()
    if counts.empty:
        return Tile("Main limit", printed.MISSING, _limits(m))
    of = f"in {counts.iloc[0]} of {counted(len(m.bottlenecks), 'cell')} with a valid run"
    return Tile("Main limit", str(counts.index[0]), of)


def _held_tile(m: Measured) -> Tile:
    if len(comparable(m)):
        counts = m.findings["verdict"].value_counts()
        value = f"{counts.get(HOLDS, 0)} of {len(m.findings)}"
        others = (
            f"{counts.get(DOES_NOT_HOLD, 0)} do not, {counts.get(CANNOT_TELL, 0)} cannot be told"
        )
        return Tile("Findings of 2003 that hold", value, others)
    good = len(valid(m.runs))
    return Tile("Valid runs", f"{good:,} of {len(m.runs):,}", "the others are flagged and left out")


def _limits(m: Measured) -> str:
    counts = m.bottlenecks["bottleneck"].value_counts()
    known = counts.drop("unknown", errors="ignore")
    if known.empty:
        return "No cell shows what limited it."
    total = len(m.bottlenecks)
    names = [f"{_WITHOUT_ARTICLE.get(name, f'the {name}')} in {n}" for name, n in known.items()]
    said = f"Of {counted(total, 'cell')} with a valid run, goodput was limited by {listed(names)}"
    unknown = int(counts.get("unknown", 0))
    return said + (f"; {counted(unknown, 'cell', _SHOWS)} no single limit." if unknown else ".")


_WITHOUT_ARTICLE = {"loss": "loss", "pacing": "pacing", ASKED: f"the {ASKED},"}
_SHOWS = ("shows", "show")


def _findings(m: Measured) -> str:
    frame = m.findings
    parts = []
    for verdict, words in (
        (HOLDS, ("holds", "hold")),
        (DOES_NOT_HOLD, ("does not", "do not")),
        (CANNOT_TELL, ("cannot be told", "cannot be told")),
    ):
        n = int((frame["verdict"] == verdict).sum())
        if n:
            parts.append(f"{n} {words[0] if n == 1 else words[1]}")
    held = frame.loc[frame["verdict"] == HOLDS, "finding"].tolist()
    lines = "; ".join(text[0].lower() + text[1:] for text in held[:3])
    named = f" Among those that hold: {lines}." if held else ""
    return f"Of {len(frame)} findings of 2003, {listed(parts)}.{named}"


# Agreement of a study's generators on one path, cell by cell.
#
# A cell here is a set of levels without the generator: path, direction, tuning, MTU, streams,
# congestion control, record length and buffers. In each cell every generator is compared with a
# reference, netlab's own where it was measured. All comparisons of a study are one family of
# :func:`netlab.analysis.compare.compare_pairs`.

OWN = "netlab"
BOUND_PERCENT = 2.0
"""Default bound of *the same*."""

CELL = (
    *("path", "sender", "direction", "tuning", "mtu_B", "streams"),
    *("congestion", "record_length_B", "buffer_B", "receive_buffer_B"),
)
"""Levels that two compared runs share."""

COMPARED_COLUMNS = (*CELL, "generator", "reference", *FIGURES)


def generators(runs: pd.DataFrame) -> list[str]:
    """Generators of some runs: netlab's own first, then in the order of the study's groups."""
    found = runs.sort_values("group")["generator"].drop_duplicates().tolist()
    return sorted(found, key=lambda name: name != OWN)


def several(runs: pd.DataFrame) -> bool:
    """True if any cell was measured with more than one generator."""
    counts = runs.groupby(list(CELL), dropna=False)["generator"].nunique()
    return bool((counts > 1).any())


def compare_generators(
    runs: pd.DataFrame, *, confidence: float = 0.95, bound_percent: float = BOUND_PERCENT
) -> pd.DataFrame:
    """Compare every generator, B, with the reference of its cell, A."""
    if not bound_percent > 0:
        raise BadInput(
            "must be above 0", key="bound_percent", value=bound_percent, code="E-ANALYSIS-001"
        )
    good = usable(runs)
    order, rows, pairs = generators(good), [], []
    goodputs = good.set_index("round")[[*CELL, "generator", "goodput_MBps"]]
    for key, cell in goodputs.groupby(list(CELL), dropna=False):
        of = {name: part["goodput_MBps"] for name, part in cell.groupby("generator")}
        reference, *others = [name for name in order if name in of]
        for name in others:
            rows.append((*key, name, reference))
            pairs.append((of[reference], of[name]))
    figures = compare_pairs(pairs, level=confidence, same_within_percent=bound_percent)
    frame = pd.DataFrame.from_records(rows, columns=[*CELL, "generator", "reference"])
    return frame.join(pd.DataFrame(figures, columns=list(FIGURES)))


@dataclass(frozen=True, eq=False)
class Agreement:
    """A study with the comparison of its generators."""

    measured: Measured
    frame: pd.DataFrame
    bound_percent: float


def agreement(m: Measured, bound_percent: float = BOUND_PERCENT) -> Agreement:
    """Compare the generators of a study at its level of confidence."""
    frame = compare_generators(m.runs, confidence=m.study.confidence, bound_percent=bound_percent)
    return Agreement(m, frame, bound_percent)


def summary(compared: pd.DataFrame) -> pd.DataFrame:
    """Counts and extremes for each path and generator."""
    rows = [
        {
            "path": path,
            "generator": generator,
            "cells": len(part),
            **{word: int((part["verdict"] == word).sum()) for word in VERDICTS},
            "least_percent": 100 * (part["ratio"].min() - 1),
            "greatest_percent": 100 * (part["ratio"].max() - 1),
        }
        for (path, generator), part in compared.groupby(["path", "generator"], sort=False)
    ]
    columns = ["path", "generator", "cells", *VERDICTS, "least_percent", "greatest_percent"]
    return pd.DataFrame.from_records(rows, columns=columns)


def meters(runs: pd.DataFrame) -> pd.DataFrame:
    """Means of the hosts' meters for each generator."""
    good = valid(runs)
    good = good.assign(cpu_s_per_GB=good["agent_cpu_s"] / good["received_B"] * 1e9)
    keys = ["path", "mtu_B", "streams", "generator"]
    values = ["goodput_MBps", "sender_cpu_percent", "receiver_cpu_percent", "cpu_s_per_GB"]
    values += ["header_share"]
    grouped = good.groupby(keys)
    found = grouped[values].mean().astype("float64")
    found.insert(0, "n", grouped.size())
    found = found.reset_index()
    rank = {name: place for place, name in enumerate(generators(runs))}
    return found.sort_values(
        keys, key=lambda c: c.map(rank) if c.name == "generator" else c, ignore_index=True
    )
