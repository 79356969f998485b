"""The result of a study in five sentences, computed from its records."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from netlab.analysis import printed
from netlab.analysis.longpath_study import on_long_path
from netlab.analysis.machines import Machines, machines
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.then_and_now import comparable
from netlab.analysis.trust import counted
from netlab.measure.bottleneck import ASKED
from netlab.units import arrows

DIRECTIONS = {"->": "in one direction", "<->": "both directions together"}


@computed_once
def headline(m: Measured) -> tuple[str, ...]:
    """Sentences: the measurement, the machines, the best results, the limits, the findings.

    The last one is absent where the study repeats nothing of 2003.
    """
    said = [_design(m), _machines(m), best(m), _limits(m)]
    if len(comparable(m)):
        said.append(_findings(m))
    return tuple(said)


def listed(words: Sequence[str], joint: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    words = [str(word) for word in words]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {joint} {words[-1]}"


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
    frames = f"MTU {listed([str(v) for v in mtus])} B" if mtus else "an unknown MTU"
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
        parts.append(f"Linux {listed(kernels, 'and')}")
    machine = ", ".join(parts) or "a machine that was not recorded"
    if kinds == {"lab"}:
        return (
            f"This is netlab's emulated lab, not hardware: {counted(len(m.study.hosts), 'host')} "
            f"as network namespaces of one machine ({machine}), with modelled buses and links."
            + _without_root(found)
        )
    drivers = found.fact("NIC driver")
    cards = f"; network cards with driver {listed(drivers)}" if drivers else ""
    return f"The hosts {listed(list(m.study.hosts))} are real machines: {machine}{cards}."


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
        ("seen", ("recurs", "recur")),
        ("not seen", ("does not", "do not")),
        ("undecided", ("is undecided", "are undecided")),
    ):
        n = int((frame["verdict"] == verdict).sum())
        if n:
            parts.append(f"{n} {words[0] if n == 1 else words[1]}")
    seen = frame.loc[frame["verdict"] == "seen", "finding"].tolist()
    lines = "; ".join(text[0].lower() + text[1:] for text in seen[:3])
    named = f" Among those that recur: {lines}." if seen else ""
    return f"Of {len(frame)} findings of 2003, {listed(parts)}.{named}"
