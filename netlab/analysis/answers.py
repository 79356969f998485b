"""The result of a study in five sentences, computed from its records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import pandas as pd

from netlab.analysis import any_factors, cell_texts, printed
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS, usable, valid
from netlab.analysis.compare import bonferroni, compare_pairs
from netlab.analysis.effects import CANNOT_TELL, FASTER, NO_INTERVAL, SLOWER, STEP, Ratio, steps
from netlab.analysis.findings import DOES_NOT_HOLD, HELD, HOLDS, MIXED
from netlab.analysis.host_facts import machines
from netlab.analysis.intervals import LEAST_ROUNDS, Interval
from netlab.analysis.mean_ratios import mean_difference, mean_ratio, without_rounds
from netlab.analysis.measured import Measured, computed_once, published_values
from netlab.analysis.own_report import own_report
from netlab.analysis.shares import FROM, LINKS, of_stacks, stack_names
from netlab.analysis.trust import counted
from netlab.measure.bottleneck import ASKED, SLOW_START
from netlab.measure.steadiness import rate_text
from netlab.study.base import dealt
from netlab.study.factors import level_text
from netlab.units import arrows, listed, plain

MOST_NAMED = 6
"""Levels of a factor that a sentence names one by one."""

DIRECTIONS = {"->": "in one direction", "<->": "both directions together"}


@computed_once
def headline(m: Measured) -> tuple[str, ...]:
    """Sentences: measurement, machines, best, shares, bursts, limits, a trade-off, findings."""
    results = [best(m), *sharing(m), *bursts(m), _limits(m)]
    sentences = [_design(m), _machines(m), *results, *trade_offs(m)[:1]]
    if published_values(m) is not None:
        sentences.append(_findings(m))
    return tuple(sentences)


def span(values: Sequence[int], noun: str) -> str:
    """``1 to 20 streams`` of numbers that are all in the study."""
    low, high = int(min(values)), int(max(values))
    return counted(low, noun) if low == high else f"{low} to {high} {noun}s"


def _design(m: Measured) -> str:
    mtus = sorted({int(v) for v in m.cells["mtu_B"] if v})
    labels = list(cell_texts.tuning_labels(m.cells, m.study).values())
    days = (m.runs["started_at"].min(), m.runs["started_at"].max())
    when = " to ".join(dict.fromkeys(f"{day:%Y-%m-%d}" for day in days))
    tunings = f"{counted(len(labels), 'tuning')} ({listed(labels)})"
    frames = f"MTU {listed(mtus)} B" if mtus else "an unknown MTU"
    further = "".join(f", {_levels(*each)}" for each in _further(m).items())
    return (
        f"{counted(len(m.cells), 'cell')} in {counted(len(m.groups), 'group')} of host pairs: "
        f"{tunings}, {frames}, {span(m.cells['streams'], 'stream')}{further}; "
        f"{counted(len(m.runs), 'run')} of {m.study.timing.seconds:g} s in up to "
        f"{counted(int(m.runs['round'].max()), 'round')}, measured on {when}."
    )


def _further(m: Measured) -> dict[str, list]:
    """Factors that vary beside tuning, MTU, streams and the group."""
    named = ("tuning", "mtu_B", "streams", "group", "path", "direction", "sender")
    varying = any_factors.varying(m.cells, m.study)
    return {name: levels for name, levels in varying.items() if name not in named}


def _levels(name: str, levels: list) -> str:
    """``queue 9000, 20000 and 60000 B``; of many levels how many there are."""
    stem, comma, unit = any_factors.unit_of(name).partition(", ")
    if len(levels) > MOST_NAMED:
        return f"{len(levels)} levels of {stem}"
    return f"{stem} {listed(map(level_text, levels))}" + f" {unit}" * bool(comma)


def _machines(m: Measured) -> str:
    facts = machines(m.runs, m.study)
    kinds = {m.study.hosts[name].kind for path in m.study.paths.values() for name in path.hosts}
    parts, cpus = [], facts.fact("CPUs")
    if processors := facts.fact("CPU"):
        each = f"{cpus[0]} × " if len(cpus) == 1 else ""
        parts.append(each + listed(processors, "or"))
    if kernels := facts.fact("kernel"):
        parts.append(f"Linux {listed(kernels)}")
    machine = ", ".join(parts) or "a machine that was not recorded"
    if kinds != {"lab"}:
        drivers = facts.fact("NIC driver")
        cards = f"; network cards with driver {listed(drivers)}" if drivers else ""
        return f"The hosts {listed(m.study.hosts)} are real machines: {machine}{cards}."
    lab = (
        f"This is netlab's emulated lab, not hardware: {counted(len(m.study.hosts), 'host')} "
        f"as network namespaces of one machine ({machine}), with modelled buses and links."
    )
    values = facts.shared.loc[facts.shared["item"] == "user_namespace", "value"]
    if not values.str.contains("True").any():
        return lab
    which = "of some runs " if values.str.contains("False").any() else ""
    return (
        f"{lab} The lab {which}was made without root and defers no interrupts; Precision and "
        "flags lists what it lacks."
    )


def best(m: Measured) -> str:
    """The highest goodput in each direction, and where it was reached."""
    highest = printed.best(m.cells, m.study)
    if m.cells["goodput_MBps"].isna().all():
        return "No cell has a valid run, so none is called the best."
    if highest.empty:
        return "No cell is precise enough to be called the best."
    parts = []
    for direction, words in DIRECTIONS.items():
        of = highest[highest["direction"] == direction]
        if len(of):
            cell = of.loc[of["goodput_MBps"].idxmax()]
            asked = f"; {ASKED}" if cell.bottleneck == ASKED else ""
            parts.append(f"{words} {_goodput(m, cell)} ({_where(m, cell)}{asked})")
    return f"Highest goodput: {'; '.join(parts)}."


MOST_BURSTS = 3
"""Cells that the headline names; a path with a credit shows it in nearly all."""


def question(m: Measured) -> str:
    """Headline of a report: shares, where cells mix stacks, RTTs, links or hosts; else the best."""
    mixed = all(
        len(set(dealt(m.study.congestion_of(group)))) > 1
        or len({(flow.rtt_ms, flow.over, flow.from_) for flow in group.flows}) > 1
        for group in m.study.run_groups()
    )
    return next(iter(sharing(m)), best(m)) if mixed else best(m)


def sharing(m: Measured) -> tuple[str, ...]:
    """A sentence on the first stack of the cells that mix several: its largest and least share."""
    frame = of_stacks(m)
    frame = frame[(frame["flows"] < frame["of_flows"]) & (frame["way"] != "reverse")]
    frame = frame[frame["disturbed"] == ""]
    if frame.empty:
        return ()
    control = frame["control"].iloc[0]
    own = frame[frame["control"] == control].assign(
        equal=lambda rows: 100 * rows["flows"] / rows["of_flows"]
    )
    more = int((own["share_low_percent"] > own["equal"]).sum())
    less = int((own["share_high_percent"] < own["equal"]).sum())
    relative = own["share_percent"] / own["equal"]
    parts = [_share_of(m, own.loc[at]) for at in (relative.idxmax(), relative.idxmin())]
    reach = f"{parts[0]} to {parts[1]}" if len(own) > 1 else parts[0]
    name, several = stack_names(frame["control"].unique())[control], counted(len(own), "cell")
    whose, of = f"{name}'s share of the bytes", "all flows"
    if FROM in control:
        whose = f"The share of {name} in the bytes"
    if own["way"].isin(LINKS.values()).any():
        whose, of = f"The share of {name} in the bytes of a link", "the flows of that link"
        several = counted(len(own), "link")
    return (
        f"{whose} is {reach}: more than an equal share of {of} in {more} and less in {less} of "
        f"{several}.",
    )


def _share_of(m: Measured, row: pd.Series) -> str:
    """``81 ± 3 % with 2 of 4 flows (4 streams, queue 37500 B)``."""
    figures = (row[f"share_{end}percent"] for end in ("", "low_", "high_"))
    share = cell_texts.with_interval(*figures)
    where = printed.where(row.to_dict(), cell_texts.tuning_labels(m.cells, m.study))
    where += f", {row['way']}" if row["way"] in LINKS.values() else ""
    return f"{share} % with {row['flows']} of {row['of_flows']} flows ({where})"


def bursts(m: Measured) -> tuple[str, ...]:
    """A sentence on unsteady runs, by cell: what the path sustains after a burst."""
    keys = list(CELL_KEYS)
    unsteady = m.runs[m.runs["sustained_MBps"].notna()]
    if unsteady.empty:
        return ()
    columns = ["burst_MBps", "burst_s", "sustained_MBps"]
    of_cells = unsteady.groupby(keys)[columns].median()
    of_cells["count"] = unsteady.groupby(keys).size()
    cells = m.cells.join(of_cells, on=keys, how="inner")
    named = [
        f"{_where(m, cell)}: a burst, then {rate_text(cell.sustained_MBps)} MB/s "
        f"({rate_text(cell.burst_MBps)} until {plain(cell.burst_s, '.2g')} s, "
        f"{cell['count']} of {counted(cell.n_valid + cell.n_flagged, 'run')})"
        for _, cell in cells.head(MOST_BURSTS).iterrows()
    ]
    if len(cells) > MOST_BURSTS:
        named.append(f"and {counted(len(cells) - MOST_BURSTS, 'more cell')}")
    return (
        f"Unsteady: {'; '.join(named)}. These runs are left out; a warm-up longer than the burst "
        "measures what the path sustains.",
    )


def _where(m: Measured, cell: pd.Series) -> str:
    tuning, streams = cell_texts.tuning_labels(m.cells, m.study)[cell.tuning], int(cell.streams)
    mtu = printed.mtu_text(cell.to_frame().T)
    known, varying = any_factors.levels_of(cell.factors), _further(m)
    further = [any_factors.level_label(n, known[n], {}) for n in varying if n in known]
    place = f"{arrows(cell.group)}, {tuning}, {mtu}, {counted(streams, 'stream')}"
    return ", ".join([place, *further])


def _goodput(m: Measured, cell: pd.Series) -> str:
    own = own_report(m)
    factor, unit = (own.per_MBps, own.unit) if own else (1.0, "MB/s")
    ends = (factor * end for end in (cell.goodput_MBps, cell.low_MBps, cell.high_MBps))
    value = f"{cell_texts.with_interval(*ends)} {unit}"
    if math.isnan(cell.percent_of_bus):
        return value
    twice = cell.direction == "<->" and not m.study.bus_shared(cell.path)
    return f"{value}, {cell.percent_of_bus:.0f} % of {'twice the bus' if twice else 'the bus'}"


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
    highest, limits = printed.best(m.cells, m.study), m.bottlenecks["bottleneck"].value_counts()
    top = Tile("Highest goodput", cell_texts.MISSING, best(m))
    if len(highest):
        cell = highest.loc[highest["goodput_MBps"].idxmax()]
        top = Tile("Highest goodput", _goodput(m, cell), _where(m, cell), cell.to_dict())
    limit = Tile("Main limit", cell_texts.MISSING, _limits(m))
    if len(limits):
        of = f"in {limits.iloc[0]} of {counted(len(m.bottlenecks), 'cell')} with a valid run"
        limit = Tile("Main limit", str(limits.index[0]), of)
    good, every = len(valid(m.runs)), len(m.runs)
    of = "the others are flagged and left out" if good < every else "no run is flagged and left out"
    count = Tile("Valid runs", f"{good:,} of {every:,}", of)
    if published_values(m) is not None:
        verdicts = m.findings["verdict"].value_counts()
        value = f"{verdicts.get(HOLDS, 0)} of {len(m.findings)}"
        no, mixed = (verdicts.get(word, 0) for word in (DOES_NOT_HOLD, MIXED))
        rest = verdicts.drop([HOLDS, DOES_NOT_HOLD, MIXED], errors="ignore").sum()
        of = f"{no} do not, {mixed} are mixed, {rest} cannot be told"
        count = Tile("Findings of 2003 that hold", value, of)
    return top, limit, count


def _limits(m: Measured) -> str:
    counts, plain = m.bottlenecks["bottleneck"].value_counts(), ("loss", "pacing", SLOW_START)
    limits = counts.drop("unknown", errors="ignore")
    if limits.empty:
        return "No cell shows what limited it."
    names = [
        f"{f'the {name},' if name == ASKED else name if name in plain else f'the {name}'} in {n}"
        for name, n in limits.items()
    ]
    total = counted(len(m.bottlenecks), "cell")
    text = f"Of {total} with a valid run, goodput was limited by {listed(names)}"
    unknown = counted(int(counts.get("unknown", 0)), "cell", ("shows", "show"))
    return text + (f"; {unknown} no single limit." if "unknown" in counts else ".")


def _findings(m: Measured) -> str:
    frame, parts = m.findings, []
    # A finding without any interval cannot be told either; the table of findings says which.
    alike = frame["verdict"].where(frame["verdict"].isin(HELD), CANNOT_TELL)
    for verdict, *words in (
        (HOLDS, "holds", "hold"),
        (DOES_NOT_HOLD, "does not", "do not"),
        (MIXED, "is mixed", "are mixed"),
        (CANNOT_TELL, "cannot be told", "cannot be told"),
    ):
        if n := int((alike == verdict).sum()):
            parts.append(f"{n} {words[n > 1]}")
    held = frame.loc[frame["verdict"] == HOLDS, "finding"].tolist()
    lines = "; ".join(text[0].lower() + text[1:] for text in held[:3])
    named = f" Among those that hold: {lines}." if held else ""
    return f"Of {len(frame)} findings of 2003, {listed(parts)}.{named}"


def factor_levels(m: Measured) -> dict[str, tuple | None]:
    """Levels of every factor in the order of their steps; None: ascending."""
    varying = any_factors.varying(m.cells, m.study)
    more = {name: tuple(varying.get(name, ())) for name in any_factors.names(m.runs, m.study)}
    tunings = tuple(level.name for level in m.study.tunings)
    return {"streams": None, "mtu_B": None, "tuning": tunings, "direction": None, **more}


OF_A_CASE = (FASTER, SLOWER, CANNOT_TELL, NO_INTERVAL)
EFFECT_COLUMNS = (*STEP, "ratio", "low", "high", "contexts", *OF_A_CASE)


@computed_once
def step_effects(m: Measured) -> pd.DataFrame:
    """Mean ratio of each step of each factor, and the number of its cases by verdict.

    All cases of the study are one family, and so are all steps: their statements hold at once.
    """
    # A mean over cells of different rounds needs goodputs without the effects of the rounds.
    runs = m.runs.assign(steady_MBps=without_rounds(usable(m.runs)))
    found: dict[tuple, list] = {}
    for factor, levels in factor_levels(m).items():
        for step, *sides in steps(runs, factor, levels, ("goodput_MBps", "steady_MBps")):
            found.setdefault(tuple(step[key] for key in STEP), []).append(sides)
    cases = [sides for of_step in found.values() for sides in of_step]
    level = nominal_level(m.study)
    pairs = [tuple(side["goodput_MBps"] for side in sides) for sides in cases]
    figures = compare_pairs(pairs, level=level, same_within_percent=0)
    verdicts = iter([row["verdict"] for row in figures])
    effects: list[tuple] = []
    for key, of_step in found.items():
        words = [next(verdicts) for _ in of_step]
        bounded = [sides for sides in of_step if min(map(len, sides)) >= LEAST_ROUNDS]
        mean = mean_ratio(
            [tuple(side["steady_MBps"] for side in sides) for sides in bounded or of_step],
            bonferroni(level, len(found)),
        )
        ends = (mean.low, mean.high) if bounded else (math.nan, math.nan)
        effects.append((*key, mean.ratio, *ends, len(of_step), *map(words.count, OF_A_CASE)))
    return pd.DataFrame.from_records(effects, columns=list(EFFECT_COLUMNS))


@computed_once
def trade_offs(m: Measured) -> tuple[str, ...]:
    """A sentence a step that gains goodput and costs latency beyond doubt; the dearest first."""
    labels, level = cell_texts.tuning_labels(m.cells, m.study), m.study.confidence
    columns = ("goodput_MBps", "added_latency_us")
    probed = m.runs[m.runs["added_latency_us"].notna()]
    pairs: dict[tuple, list] = {}
    known = factor_levels(m)
    # both directions together carry more than one of them, at no other setting
    for factor in ("streams", "mtu_B", "tuning", *any_factors.names(probed)):
        for step, *sides in steps(probed, factor, known[factor], columns):
            pairs.setdefault(tuple(step[key] for key in STEP), []).append(sides)
    costs = []
    for (factor, *ends), cases in pairs.items():
        gain, added_us = _changes(cases, level)
        if gain.ratio < 1:
            ends, cases = ends[::-1], [side[::-1] for side in cases]
            gain, added_us = _changes(cases, level)
        if gain.low > 1 and added_us.low > 1:  # the resolution of an RTT is 1 us
            costs.append((added_us, gain, any_factors.step_text(factor, ends, labels), len(cases)))
    return tuple(
        f"The step of {step} gains goodput, {any_factors.ratio_text(*astuple(gain))}, and costs "
        f"{cell_texts.with_interval(*(us / 1e3 for us in astuple(added_us)))} ms of latency under "
        f"load ({counted(cases, 'case')}, {100 * level:g} % intervals)."
        for added_us, gain, step, cases in sorted(costs, key=lambda cost: -cost[0].mean)
    )


def _changes(cases: list, level: float) -> tuple[Ratio, Interval]:
    """Change of goodput and of added latency over all cases of a step."""
    goodputs, latencies = (
        [tuple(side[name] for side in sides) for sides in cases]
        for name in ("goodput_MBps", "added_latency_us")
    )
    return mean_ratio(goodputs, level), mean_difference(latencies, level)
