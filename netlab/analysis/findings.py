"""Test of the qualitative findings of 2003 on measured runs.

A statement is tested in every context it applies to (for instance each group and stream count).
Each context gives yes, no or cannot tell by its own interval. A claim holds with at least two
thirds of yes, and does not with at least two thirds of no. It is mixed where two thirds of the
contexts answer, and disagree. The counts are always given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis import cell_texts, printed
from netlab.analysis.bottlenecks import verdicts
from netlab.analysis.cells import CELL_KEYS, usable
from netlab.analysis.effects import (
    CANNOT_TELL,
    FASTER,
    NO_INTERVAL,
    SLOWER,
    Ratio,
    effects,
    paired_ratio,
)
from netlab.measure.bottleneck import ASKED
from netlab.study import Study

AGREEMENT = 2 / 3
FLAT = 1.10
"""Largest change of goodput over stream counts that counts as flat. In table 2 of the 2003 report,
fully tuned jumbo frames change by 4 %, untuned ones by a factor of 3.8."""

HOLDS, DOES_NOT_HOLD, MIXED = "holds", "does not hold", "mixed"
HELD = (HOLDS, DOES_NOT_HOLD, MIXED, CANNOT_TELL)
"""Verdicts on a claim of 2003."""


def held(yes: int, no: int, of: int) -> str:
    """Verdict on a claim by the contexts that it was tested in."""
    if of and yes >= AGREEMENT * of:
        return HOLDS
    if of and no >= AGREEMENT * of:
        return DOES_NOT_HOLD
    return MIXED if of and yes + no >= AGREEMENT * of else CANNOT_TELL


def no_interval(rounds: int) -> str:
    """Verdict where no interval exists: too few rounds, not an interval too wide."""
    return f"{rounds} round{'s' * (rounds != 1)}: {NO_INTERVAL}"


@dataclass(frozen=True)
class Material:
    """Runs, study and bottlenecks that the statements are tested on."""

    runs: pd.DataFrame
    study: Study
    bottlenecks: pd.DataFrame

    @property
    def tunings(self) -> tuple[str, ...]:
        return tuple(level.name for level in self.study.tunings)

    def effects(self, factor: str, levels: tuple | None = None) -> pd.DataFrame:
        return effects(self.runs, factor, levels=levels, confidence=self.study.confidence)


Answers = tuple[list[str], str]
"""``yes``, ``no``, ``cannot tell`` or ``no interval`` of each context, and the evidence."""


def _answer(ratio: Ratio, yes: str = FASTER) -> str:
    """``yes`` to a ratio whose verdict is `yes`."""
    verdict = ratio.verdict()
    return verdict if verdict in (CANNOT_TELL, NO_INTERVAL) else "yes" if verdict == yes else "no"


def _times(ratio: float) -> str:
    return f"×{ratio:.2f}"


def _from_effects(frame: pd.DataFrame, what: str) -> Answers:
    if frame.empty:
        return [], "the study has nothing to compare"
    words = [_answer(Ratio(*v)) for v in frame[["ratio", "low", "high"]].to_numpy()]
    ratios = frame["ratio"]
    evidence = f"{what}: {_times(np.exp(np.log(ratios).mean()))}"
    if len(ratios) > 1:
        evidence += f" on average, {printed.reach(ratios, _times)}"
    return words, evidence


def _bound_by(part: pd.DataFrame, words: set[str]) -> Answers:
    if part.empty:
        return [], "no such cell was measured"
    answers = [
        "yes" if w in words else CANNOT_TELL if w == "unknown" else "no" for w in part.bottleneck
    ]
    counts = part["bottleneck"].value_counts()
    return answers, "bound by " + ", ".join(f"{w} in {n}" for w, n in counts.items())


def _untuned_single(m: Material) -> Answers:
    b = m.bottlenecks
    part = b[(b.tuning == m.tunings[0]) & (b.streams == min(m.study.streams))]
    return _bound_by(part, {"window", ASKED, "send buffer"})


def _more_streams_lift(m: Material) -> Answers:
    levels = tuple(sorted(m.study.streams))[:2]
    frame = m.effects("streams", levels)
    return _from_effects(frame[frame.tuning == m.tunings[0]], _step("streams", levels))


def _tuning_lifts(m: Material, levels: tuple[str, ...]) -> Answers:
    frame = m.effects("tuning", levels)
    labels = [cell_texts.tuning_label(t) for t in m.study.tunings if t.name in levels]
    return _from_effects(frame[frame.streams == min(m.study.streams)], _step("tuning", labels))


def _step(factor: str, levels: Sequence) -> str:
    return f"{factor} " + " to ".join(map(str, levels))


def _mtus(m: Material) -> list[int]:
    asked = {mtu_B for level in m.study.tunings for mtu_B in level.mtus_B or ()}
    as_found = [level.name for level in m.study.tunings if level.mtus_B is None]
    mtus = m.runs.loc[m.runs["tuning"].isin(as_found), "mtu_B"].unique()
    return sorted(asked | {int(mtu_B) for mtu_B in mtus})


def _small_bound_by_cpu(m: Material) -> Answers:
    b, mtus = m.bottlenecks, _mtus(m)
    if len(mtus) < 2:
        return [], "the study has one MTU"
    return _bound_by(b[(b.mtu_B == mtus[0]) & (b.streams > min(m.study.streams))], {"CPU"})


def _jumbo_bound_by_bus(m: Material) -> Answers:
    b, mtus = m.bottlenecks, _mtus(m)
    if not mtus:
        return [], "the study has no run"
    return _bound_by(b[(b.mtu_B > mtus[0]) & (b.tuning == m.tunings[-1])], {"bus", "link"})


def _jumbo_faster(m: Material) -> Answers:
    levels = tuple(_mtus(m)[:2])
    return _from_effects(m.effects("mtu_B", levels), _step("MTU", levels))


def _flat(highest_over_lowest: Ratio) -> str:
    if np.isnan(highest_over_lowest.low):
        return NO_INTERVAL
    if highest_over_lowest.high <= FLAT:
        return "yes"
    return "no" if highest_over_lowest.low > FLAT else CANNOT_TELL


def _flat_over_streams(m: Material) -> Answers:
    mtus, good = _mtus(m), usable(m.runs)
    if not mtus:
        return [], "the study has no run"
    part = good[(good.tuning == m.tunings[-1]) & (good.mtu_B > mtus[0])].set_index("round")
    part, spreads = part[[*CELL_KEYS, "goodput_MBps"]], []
    within = [key for key in CELL_KEYS if key != "streams"]
    for _, context in part.groupby(within, sort=False):
        sets = [goodputs for _, goodputs in context.groupby("streams")["goodput_MBps"]]
        if len(sets) > 1:
            ends = min(sets, key=pd.Series.mean), max(sets, key=pd.Series.mean)
            spreads.append(paired_ratio(*ends, m.study.confidence))
    if not spreads:
        return [], "the study has nothing to compare"
    words = [_flat(ratio) for ratio in spreads]
    return words, f"highest over lowest: {printed.reach([r.ratio for r in spreads], _times)}"


def _slower_bus_less(m: Material) -> Answers:
    levels, answers = ["direction", "tuning", "mtu_B", "streams", "factors"], []
    goodputs = usable(m.runs).set_index("round")[[*levels, "bus_MBps", "goodput_MBps"]]
    for _, part in goodputs.groupby(levels, sort=False):
        by_bus = dict(list(part.groupby("bus_MBps")["goodput_MBps"]))
        if len(by_bus) > 1:
            ends = by_bus[max(by_bus)], by_bus[min(by_bus)]
            answers.append(paired_ratio(*ends, m.study.confidence))
    if not answers:
        return [], "the study has one bus"
    words = [_answer(r, yes=SLOWER) for r in answers]
    return words, f"slowest bus over fastest: {printed.reach([r.ratio for r in answers], _times)}"


def _slower_host_sends_less(m: Material) -> Answers:
    rows = []
    for name, path in m.study.paths.items():
        buses = {e.host: m.study.hosts[e.host].bus for e in path.ends}
        rate_MBps = {host: bus.bandwidth_MBps for host, bus in buses.items() if bus is not None}
        if len(set(rate_MBps.values())) > 1:
            slow, fast = sorted(rate_MBps, key=rate_MBps.__getitem__)
            frame = m.effects("sender", (slow, fast))
            rows.append(frame[(frame.path == name) & (frame.direction == "->")])
    if not rows:
        return [], "no path joins hosts with different buses"
    return _from_effects(pd.concat(rows), "to it over from it")


STATEMENTS: tuple[tuple[str, str, Callable[[Material], Answers]], ...] = (
    (
        "One untuned stream is bound by its window or send buffer",
        "tables 2 to 6: No Tuning, 1 Stream",
        _untuned_single,
    ),
    (
        "More streams lift goodput without tuning",
        "4.1.2: for the standard settings, adding more streams gives higher throughput",
        _more_streams_lift,
    ),
    (
        "Kernel tuning (larger windows) lifts a single stream",
        "tables 2 to 6, 1 Stream, No Tuning against + Kernel Tuning",
        lambda m: _tuning_lifts(m, m.tunings[:2]),
    ),
    (
        "Driver tuning lifts a single stream further",
        "tables 2 to 6, 1 Stream, + Kernel Tuning against + Driver Tuning",
        lambda m: _tuning_lifts(m, m.tunings[-2:] if len(m.tunings) > 2 else ()),
    ),
    ("The smallest MTU is bound by the CPU", "4.1.2: the CPU can not keep up", _small_bound_by_cpu),
    (
        "Jumbo frames, fully tuned, are bound by the bus",
        "1 and 6: the PCI-X limit",
        _jumbo_bound_by_bus,
    ),
    (
        "Jumbo frames are faster than the smallest MTU",
        "tables 2 to 6, 1500 B against 9000 B",
        _jumbo_faster,
    ),
    (
        "Fully tuned jumbo frames are flat over stream counts (within 10 %)",
        "4.2.1 and 4.2.2: the curves are nearly completely flat",
        _flat_over_streams,
    ),
    (
        "Both directions together carry more than one",
        "4.1.3: a bit better throughput than running only in one direction",
        lambda m: _from_effects(m.effects("direction", ("->", "<->")), "<-> over ->"),
    ),
    (
        "The path with the slower bus carries less",
        "6: when a Linux32 system was used, the results were much lower",
        _slower_bus_less,
    ),
    (
        "The host with the slower bus receives faster than it sends",
        "4.2.2: much higher throughput than the other way around",
        _slower_host_sends_less,
    ),
)


def findings(runs: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Test every statement of 2003 on measured runs; flagged runs are left out."""
    material, rows = Material(runs, study, verdicts(runs)), []
    rounds = int(usable(runs).groupby(list(CELL_KEYS)).size().max()) if len(usable(runs)) else 0
    for text, source, test in STATEMENTS:
        words, evidence = test(material)
        yes, no = (words.count(word) for word in ("yes", "no"))
        verdict = held(yes, no, len(words))
        if set(words) == {NO_INTERVAL}:
            verdict = no_interval(rounds)
        rows.append((text, source, verdict, yes, no, len(words) - yes - no, evidence))
    columns = ["finding", "source", "verdict", "yes", "no", "cannot_tell", "evidence"]
    return pd.DataFrame.from_records(rows, columns=columns)


TARGET_COLUMNS = ("group", "unit", "target", "best_cell", "reached", "low", "high", "verdict")

GBPS_A_MBPS = 8e-3


def target(cells: pd.DataFrame, study: Study) -> pd.DataFrame:
    """Compare the target of each group with its best cell."""
    of_bus = ["percent_of_bus", "percent_low", "percent_high"]
    rate = ["goodput_MBps", "low_MBps", "high_MBps"]
    labels, rows = cell_texts.tuning_labels(cells, study), []
    for group in study.groups:
        best = printed.best(cells[cells["group"] == group.name])
        for unit, wanted, columns, scale, nothing in (
            ("% of bus", group.target_percent_of_bus, of_bus, 1.0, "no cell with a bus"),
            ("Gb/s", group.target_Gbps, rate, GBPS_A_MBPS, "no valid cell"),
        ):
            best_rows = best[best[columns[0]].notna()].to_dict("records")
            if wanted is not None and not best_rows:
                rows.append((group.name, unit, wanted, nothing, *[np.nan] * 3, CANNOT_TELL))
            elif wanted is not None:
                reached, low, high = (scale * float(best_rows[0][column]) for column in columns)
                met = "met" if low >= wanted else "not met" if high < wanted else CANNOT_TELL
                if np.isnan(low):
                    met = no_interval(int(best_rows[0]["n_valid"]))
                where = printed.where(best_rows[0], labels)
                rows.append((group.name, unit, wanted, where, reached, low, high, met))
    return pd.DataFrame.from_records(rows, columns=list(TARGET_COLUMNS))
