"""Test of the qualitative findings of 2003 on measured runs.

A statement is tested in every context it applies to (for instance each group and stream count).
Each context gives yes, no or open by its own interval. A claim holds with at least two thirds of
yes, and does not with at least two thirds of no. The counts are always given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis import printed
from netlab.analysis.cells import valid
from netlab.analysis.conditions import verdicts
from netlab.analysis.effects import CANNOT_TELL, FASTER, SLOWER, Ratio, effects, paired_ratio
from netlab.measure.bottleneck import ASKED
from netlab.study import Study

AGREEMENT = 2 / 3
FLAT = 1.10
"""Largest change of goodput over stream counts that counts as flat. In table 2 of the 2003 report,
fully tuned jumbo frames change by 4 %, untuned ones by a factor of 3.8."""

ANSWERS = {FASTER: "yes", SLOWER: "no", CANNOT_TELL: "open"}

HOLDS, DOES_NOT_HOLD = "holds", "does not hold"
HELD = (HOLDS, DOES_NOT_HOLD, CANNOT_TELL)
"""Verdicts on a claim of 2003."""


def held(yes: int, no: int, of: int) -> str:
    """Verdict on a claim by the contexts that it was tested in."""
    if of and yes >= AGREEMENT * of:
        return HOLDS
    return DOES_NOT_HOLD if of and no >= AGREEMENT * of else CANNOT_TELL


@dataclass(frozen=True)
class AnswerCounts:
    """Number of contexts by answer, and the evidence."""

    yes: int = 0
    no: int = 0
    open: int = 0
    evidence: str = ""

    @property
    def verdict(self) -> str:
        """One of :data:`HELD`."""
        return held(self.yes, self.no, self.yes + self.no + self.open)


@dataclass(frozen=True)
class Material:
    """Runs, study and bottlenecks that the statements are tested on."""

    runs: pd.DataFrame
    study: Study
    bottlenecks: pd.DataFrame

    @property
    def tunings(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.study.tunings)

    @property
    def confidence(self) -> float:
        return self.study.confidence

    def effects(self, factor: str, levels: tuple | None = None) -> pd.DataFrame:
        return effects(self.runs, factor, levels=levels, confidence=self.confidence)

    def label(self, tuning: str) -> str:
        return {t.name: printed.tuning_label(t) for t in self.study.tunings}[tuning]


Test = Callable[[Material], AnswerCounts]


@dataclass(frozen=True)
class Statement:
    """One finding of 2003: its text, its place in the report, and its test."""

    text: str
    source: str
    test: Test


def _count(words: list[str], evidence: str) -> AnswerCounts:
    return AnswerCounts(words.count("yes"), words.count("no"), words.count("open"), evidence)


def _times(ratio: float) -> str:
    return f"×{ratio:.2f}"


def _from_effects(frame: pd.DataFrame, what: str) -> AnswerCounts:
    if frame.empty:
        return AnswerCounts(evidence="the study has nothing to compare")
    words = [ANSWERS[Ratio(*v).verdict()] for v in frame[["ratio", "low", "high"]].to_numpy()]
    ratios = frame["ratio"]
    mean = np.exp(np.log(ratios).mean())
    evidence = f"{what}: {_times(mean)}"
    if len(ratios) > 1:
        evidence += f" on average, {printed.reach(ratios, _times)}"
    return _count(words, evidence)


def _bound_by(part: pd.DataFrame, words: set[str]) -> AnswerCounts:
    if part.empty:
        return AnswerCounts(evidence="no such cell was measured")
    answers = ["yes" if w in words else "open" if w == "unknown" else "no" for w in part.bottleneck]
    counts = part["bottleneck"].value_counts()
    return _count(answers, "bound by " + ", ".join(f"{w} in {n}" for w, n in counts.items()))


def _untuned_single(m: Material) -> AnswerCounts:
    b = m.bottlenecks
    part = b[(b.tuning == m.tunings[0]) & (b.streams == min(m.study.streams))]
    return _bound_by(part, {"window", ASKED, "send buffer"})


def _more_streams_lift(m: Material) -> AnswerCounts:
    levels = tuple(sorted(m.study.streams))[:2]
    frame = m.effects("streams", levels)
    return _from_effects(frame[frame.tuning == m.tunings[0]], _step("streams", levels))


def _tuning_lifts(m: Material, levels: tuple[str, ...]) -> AnswerCounts:
    frame = m.effects("tuning", levels)
    frame = frame[frame.streams == min(m.study.streams)]
    return _from_effects(frame, _step("tuning", tuple(map(m.label, levels))))


def _step(factor: str, levels: tuple) -> str:
    return f"{factor} " + " to ".join(map(str, levels))


def _mtus(m: Material) -> list[int]:
    asked = {mtu_B for level in m.study.tunings for mtu_B in level.mtus_B or ()}
    as_found = [level.name for level in m.study.tunings if level.mtus_B is None]
    found = m.runs.loc[m.runs["tuning"].isin(as_found), "mtu_B"].unique()
    return sorted(asked | {int(mtu_B) for mtu_B in found})


def _small_bound_by_cpu(m: Material) -> AnswerCounts:
    b, mtus = m.bottlenecks, _mtus(m)
    if len(mtus) < 2:
        return AnswerCounts(evidence="the study has one MTU")
    return _bound_by(b[(b.mtu_B == mtus[0]) & (b.streams > min(m.study.streams))], {"CPU"})


def _jumbo_bound_by_bus(m: Material) -> AnswerCounts:
    b, mtus = m.bottlenecks, _mtus(m)
    if not mtus:
        return AnswerCounts(evidence="the study has no run")
    part = b[(b.mtu_B > mtus[0]) & (b.tuning == m.tunings[-1])]
    return _bound_by(part, {"bus", "link"})


def _jumbo_faster(m: Material) -> AnswerCounts:
    levels = tuple(_mtus(m)[:2])
    return _from_effects(m.effects("mtu_B", levels), _step("MTU", levels))


def _flat_over_streams(m: Material) -> AnswerCounts:
    mtus, usable = _mtus(m), valid(m.runs)
    if not mtus:
        return AnswerCounts(evidence="the study has no run")
    part = usable[(usable.tuning == m.tunings[-1]) & (usable.mtu_B > mtus[0])]
    part = part.set_index("round")[["group", "mtu_B", "streams", "goodput_MBps"]]
    words, changes = [], []
    for _, context in part.groupby(["group", "mtu_B"], sort=False):
        sets = [v["goodput_MBps"] for _, v in context.groupby("streams")]
        sets = [v for v in sets if (v > 0).all()]
        if len(sets) < 2:
            continue
        sets.sort(key=lambda values: values.mean())
        found = paired_ratio(sets[0], sets[-1], m.confidence)
        changes.append(found.ratio)
        words.append("yes" if found.high <= FLAT else "no" if found.low > FLAT else "open")
    if not words:
        return AnswerCounts(evidence="the study has nothing to compare")
    evidence = f"highest over lowest: {printed.reach(changes, _times)}"
    return _count(words, evidence)


def _slower_bus_less(m: Material) -> AnswerCounts:
    usable = valid(m.runs)
    usable = usable[usable["goodput_MBps"] > 0]
    words, ratios = [], []
    levels = ["direction", "tuning", "mtu_B", "streams", "factors"]
    goodputs = usable.set_index("round")[[*levels, "bus_MBps", "goodput_MBps"]]
    for _, part in goodputs.groupby(levels, sort=False):
        by_bus = {bus: v["goodput_MBps"] for bus, v in part.groupby("bus_MBps")}
        if len(by_bus) < 2:
            continue
        found = paired_ratio(by_bus[max(by_bus)], by_bus[min(by_bus)], m.confidence)
        ratios.append(found.ratio)
        words.append({FASTER: "no", SLOWER: "yes", CANNOT_TELL: "open"}[found.verdict()])
    if not words:
        return AnswerCounts(evidence="the study has one bus")
    evidence = f"slowest bus over fastest: {printed.reach(ratios, _times)}"
    return _count(words, evidence)


def _slower_host_sends_less(m: Material) -> AnswerCounts:
    rows = []
    for name, path in m.study.paths.items():
        buses = {e.host: m.study.hosts[e.host].bus for e in path.ends}
        rate_MBps = {host: bus.bandwidth_MBps for host, bus in buses.items() if bus is not None}
        if len(rate_MBps) < 2 or len(set(rate_MBps.values())) < 2:
            continue
        slow, fast = sorted(rate_MBps, key=rate_MBps.__getitem__)
        frame = m.effects("sender", (slow, fast))
        rows.append(frame[(frame.path == name) & (frame.direction == "->")])
    if not rows:
        return AnswerCounts(evidence="no path joins hosts with different buses")
    return _from_effects(pd.concat(rows), "to it over from it")


STATEMENTS: tuple[Statement, ...] = (
    Statement(
        "One untuned stream is bound by its window or send buffer",
        "tables 2 to 6: No Tuning, 1 Stream",
        _untuned_single,
    ),
    Statement(
        "More streams lift goodput without tuning",
        "4.1.2: for the standard settings, adding more streams gives higher throughput",
        _more_streams_lift,
    ),
    Statement(
        "Kernel tuning (larger windows) lifts a single stream",
        "tables 2 to 6, 1 Stream, No Tuning against + Kernel Tuning",
        lambda m: _tuning_lifts(m, m.tunings[:2]),
    ),
    Statement(
        "Driver tuning lifts a single stream further",
        "tables 2 to 6, 1 Stream, + Kernel Tuning against + Driver Tuning",
        lambda m: _tuning_lifts(m, m.tunings[-2:] if len(m.tunings) > 2 else ()),
    ),
    Statement(
        "The smallest MTU is bound by the CPU",
        "4.1.2: the CPU can not keep up",
        _small_bound_by_cpu,
    ),
    Statement(
        "Jumbo frames, fully tuned, are bound by the bus",
        "1 and 6: the PCI-X limit",
        _jumbo_bound_by_bus,
    ),
    Statement(
        "Jumbo frames are faster than the smallest MTU",
        "tables 2 to 6, 1500 B against 9000 B",
        _jumbo_faster,
    ),
    Statement(
        "Fully tuned jumbo frames are flat over stream counts (within 10 %)",
        "4.2.1 and 4.2.2: the curves are nearly completely flat",
        _flat_over_streams,
    ),
    Statement(
        "Both directions together carry more than one",
        "4.1.3: a bit better throughput than running only in one direction",
        lambda m: _from_effects(m.effects("direction", ("->", "<->")), "<-> over ->"),
    ),
    Statement(
        "The path with the slower bus carries less",
        "6: when a Linux32 system was used, the results were much lower",
        _slower_bus_less,
    ),
    Statement(
        "The host with the slower bus receives faster than it sends",
        "4.2.2: much higher throughput than the other way around",
        _slower_host_sends_less,
    ),
)


def findings(runs: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Test every statement of 2003 on measured runs; flagged runs are left out."""
    material = Material(runs, study, verdicts(runs))
    tested = [(statement, statement.test(material)) for statement in STATEMENTS]
    rows = [
        (one.text, one.source, count.verdict, count.yes, count.no, count.open, count.evidence)
        for one, count in tested
    ]
    columns = ["finding", "source", "verdict", "yes", "no", "open", "evidence"]
    return pd.DataFrame.from_records(rows, columns=columns)


TARGET_COLUMNS = ("group", "unit", "target", "best_cell", "reached", "low", "high", "verdict")

GBPS_A_MBPS = 8e-3


def target(cells: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Compare the target of each group with its best cell."""
    rows = []
    for group in study.groups:
        best = printed.best(cells[cells["group"] == group.name])
        labels = printed.tuning_labels(cells, study)
        if group.target_percent_of_bus is not None:
            with_bus = best[best["percent_of_bus"].notna()]
            value = ("percent_of_bus", "percent_low", "percent_high")
            wanted = (group.name, "% of bus", group.target_percent_of_bus)
            rows.append(_reached(wanted, with_bus, value, 1.0, labels, "no cell with a bus"))
        if group.target_Gbps is not None:
            value = ("goodput_MBps", "low_MBps", "high_MBps")
            wanted = (group.name, "Gb/s", group.target_Gbps)
            rows.append(_reached(wanted, best, value, GBPS_A_MBPS, labels, "no valid cell"))
    return pd.DataFrame.from_records(rows, columns=list(TARGET_COLUMNS))


def _reached(
    wanted: tuple[str, str, float],
    best: pd.DataFrame,
    value: tuple[str, str, str],
    scale: float,
    labels: dict[str, str],
    nothing: str,
) -> tuple:
    """One row of the targets: the best cell of a group beside what it should reach."""
    if best.empty:
        return (*wanted, nothing, *(float("nan"),) * 3, CANNOT_TELL)
    cell = best.iloc[0].to_dict()
    reached, low, high = (scale * float(cell[column]) for column in value)
    verdict = "met" if low >= wanted[2] else "not met" if high < wanted[2] else CANNOT_TELL
    return (*wanted, printed.where(cell, labels), reached, low, high, verdict)
