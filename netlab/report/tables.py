"""Tables of a measured study for notebook, site, CSV and LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from netlab.analysis import any_factors, cell_texts, conditions, order_effects, printed
from netlab.analysis import findings as statements
from netlab.analysis.answers import OF_A_CASE, step_effects
from netlab.analysis.cell_texts import CellText
from netlab.analysis.cells import DATAGRAMS, LATENCY, OVER_TCP, empty, reached_percent, with_further
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.analysis.measured import Measured
from netlab.analysis.percentiles import with_percentiles
from netlab.analysis.trust import counted, less_precise
from netlab.errors import require
from netlab.files.tables import HOLLOW, Sentence, Table, table_or
from netlab.results.flags import meaning_of, remedy_of

UNITS = {
    "goodput": "MB/s",
    "percent": "per cent of bus",
    "both": "MB/s (per cent of bus)",
    "bottleneck": "bottleneck",
}
FACTOR_NAME = {
    "streams": "streams",
    "mtu_B": "MTU, B",
    "tuning": "tuning",
    "direction": "direction",
}


def unit_of(cells: pd.DataFrame, quantity: CellText) -> str:
    """Unit of the texts of cells; of both, goodput alone where no bus is known."""
    alone = quantity == "both" and bool(printed.unknown_bus_notes(cells))
    return UNITS["goodput" if alone else quantity]


@dataclass(frozen=True)
class Tables:
    """Several tables in a column."""

    tables: tuple[Any, ...]

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables)

    def __repr__(self) -> str:
        return "\n\n".join(map(repr, self.tables))


def _level(m: Measured) -> str:
    return f"{100 * m.study.confidence:g} %"


def summary(m: Measured) -> Table:
    """Summary of the study: title, time, number of runs and cells, best cell."""
    n_flagged = len(conditions.flagged(m.runs))
    n_missing, n_empty = int((m.cells["n_valid"] == 0).sum()), int(empty(m.cells).sum())
    cells = f"{len(m.cells)}, of which {n_missing} without a valid run"
    rounds = m.runs["round"].max()
    rows = [
        ("study", m.study.title),
        ("measured", _period(m.runs)),
        ("runs", f"{len(m.runs)}, of which {n_flagged} flagged and excluded"),
        ("cells", cells + (f", {n_empty} of them empty" if n_missing else "")),
        ("rounds", str(rounds) if m.study.precision is None else f"up to {rounds}"),
        ("each run", m.study.timing.text()),
    ]
    best = printed.best(m.cells, m.study)
    if len(best):
        cell = best.loc[best["goodput_MBps"].idxmax()]
        value = cell_texts.with_interval(cell.goodput_MBps, cell.low_MBps, cell.high_MBps)
        share = cell_texts.percent(cell.percent_of_bus)
        twice = printed.both_ways(printed.of_group(m.cells, cell.group), m.study)
        ceiling = "twice the bus" if twice else "the bus"
        of_bus = "" if share == cell_texts.MISSING else f", {share} of {ceiling}"
        rows.append(("highest cell", f"{value} MB/s{of_bus} ({cell.group})"))
    return Table(pd.DataFrame(rows, columns=["item", "value"]), "The study in short")


def _period(runs: pd.DataFrame) -> str:
    started = runs["started_at"]
    return f"{started.min():%Y-%m-%d %H:%M} to {started.max():%Y-%m-%d %H:%M} UTC"


def groups(m: Measured) -> Table:
    """Settings, number of runs and best cell of each group."""
    labels = cell_texts.tuning_labels(m.cells, m.study)
    best = {row["group"]: row for row in printed.best(m.cells, m.study).to_dict("records")}
    rows = []
    for name in m.groups:
        part = m.runs[m.runs["group"] == name]
        row = {
            "group": printed.caption(m.cells, name),
            "record, B": _levels(part, "record_length_B"),
            "buffer, B": _levels(part, "buffer_B"),
            "bus, MB/s": printed.of_group(m.cells, name)["bus_MBps"].max(),
            "runs": len(part),
            **dict.fromkeys(("best cell", "MB/s", "of bus"), cell_texts.MISSING),
        }
        if top := best.get(name):
            row["best cell"] = printed.where(top, labels)
            row["MB/s"] = _unbroken(cell_texts.with_interval(*(top[c] for c in GOODPUT)))
            row["of bus"] = _unbroken(cell_texts.percent(top["percent_of_bus"]))
        rows.append(row)
    frame = pd.DataFrame(rows)
    known = pd.DataFrame([best.get(name, {}) for name in m.groups])
    columns = ["tuning", "mtu_B", "streams", *GOODPUT, "percent_of_bus"]
    return Table(
        frame,
        "Groups and the best cell of each",
        note="Socket buffer 0: chosen by the kernel. MB/s = 10^6 bytes of payload per second.",
        data=frame.iloc[:, :5].join(known.reindex(columns=columns)),
    )


GOODPUT = ("goodput_MBps", "low_MBps", "high_MBps")


def _levels(runs: pd.DataFrame, column: str) -> str:
    """Levels of an option of a group's runs, ascending."""
    levels = sorted(runs[column].unique())
    more = f" and {len(levels) - 4} more" if len(levels) > 4 else ""
    return ", ".join(map(str, levels[:4])) + more or cell_texts.MISSING


def _unbroken(text: str) -> str:
    """The text with no-break spaces, but for the one before a per cent in brackets."""
    return re.sub(r" (?!\([^()]*%\))", "\u00a0", text)


def of_group(
    m: Measured, group: str, quantity: CellText = "goodput", *, links: pd.DataFrame | None = None
) -> Table:
    """One group in the table layout of the report of 2003."""
    require(quantity, UNITS, key="quantity", code="E-REPORT-049")
    part = printed.of_group(m.cells, group)
    notes = printed.unknown_bus_notes(part) if quantity == "percent" else []
    if quantity != "bottleneck":
        notes += printed.interval_notes(part, m.study.confidence)
        notes += printed.cell_notes(part)
    if empty(part).any() or (quantity == "bottleneck" and (part["n_valid"] == 0).any()):
        notes.append(f"{cell_texts.MISSING}: no valid run.")
    unit = unit_of(part, quantity)
    if printed.both_ways(part, m.study) and quantity in ("percent", "both"):
        unit = unit.replace("of bus", "of twice the bus")
        notes.append(f"{printed.BOTH_WAYS.capitalize()}.")
    return Table(
        m.table(group, quantity),
        f"{printed.caption(m.cells, group)}, {unit}",
        formats=_unbroken,
        note=" ".join(notes),
        links=links,
        data=part.dropna(axis="columns", how="all"),
    )


def stack(m: Measured, quantity: CellText = "goodput") -> Tables:
    """All groups' tables, in the order of the report."""
    return Tables(tuple(of_group(m, group, quantity) for group in m.groups))


def missing(m: Measured) -> Table | Sentence:
    """Cells of the design without a valid run, with the reason."""
    heads = {"mtu_B": "MTU, B", "disturbed_MBps": "median of flagged runs, MB/s"}
    return table_or(
        "Every cell of the design has a valid run.",
        printed.missing(m.cells),
        "Cells without a valid run",
        heads=heads | {"missing_because": "because"},
        formats={"disturbed_MBps": lambda value: f"{HOLLOW} {cell_texts.number(value)}"},
    )


def effects(m: Measured) -> Table | Sentence:
    """Mean effect of each factor's steps, and the verdicts on their cases."""
    frame = step_effects(m)
    if frame.empty:
        return Sentence("No factor varies between comparable runs of this study.")
    labels = cell_texts.tuning_labels(m.cells, m.study)
    ratios = frame[["ratio", "low", "high"]].to_numpy()
    shown = pd.DataFrame(
        {
            "factor": [
                FACTOR_NAME.get(name) or any_factors.unit_of(name) for name in frame["factor"]
            ],
            "from": [labels.get(v, v) for v in frame["from_level"]],
            "to": [labels.get(v, v) for v in frame["to_level"]],
            "ratio": [any_factors.ratio_text(*row) for row in ratios],
            "cases": frame["contexts"],
            **{word: frame[word] for word in OF_A_CASE},
        }
    )
    interval = f", with its {_level(m)} interval over rounds" if frame["low"].notna().any() else ""
    cases = int(frame["contexts"].sum())
    note = (
        f"Geometric mean over the cases of {LEAST_ROUNDS} rounds and more, or over all if there "
        f"are none{interval}. One correction for the page: the intervals of all "
        f"{counted(len(frame), 'step')} hold at once (Bonferroni), and so do faster and slower for "
        f"all {counted(cases, 'case')} (Holm's test). Cannot tell: a case that the test does not "
        f"decide; no interval: a case of fewer than {LEAST_ROUNDS} rounds."
    )
    return Table(shown, "Effect of each step of a factor on goodput", note=note, data=frame)


def findings(m: Measured) -> Table:
    """Findings of 2003 with their verdicts on these runs."""
    heads = {"source": "in the report of 2003", "finding": "finding of 2003", "verdict": "here"}
    heads["cannot_tell"] = "cannot tell"
    return Table(m.findings, "Findings of 2003, tested on these runs", heads, bold="verdict")


def target(m: Measured) -> Table | Sentence:
    """Target of each group, with the verdict."""
    frame = statements.target(m.cells, m.study)
    rows = [
        {
            "group": row["group"],
            "target": f"{row['target']:g} {row['unit']}",
            "best cell": row["best_cell"],
            "reached": any_factors.ratio_text(
                *(row["reached"], row["low"], row["high"]),
                *(1 if row["unit"].startswith("%") else 2, "", f" {row['unit']}"),
            ),
            "verdict": row["verdict"],
        }
        for row in frame.to_dict("records")
    ]
    return table_or("No group of this study states a target.", rows, "Targets", data=frame)


def flagged(m: Measured) -> Table | Sentence:
    """Excluded runs, with the reason."""
    frame = conditions.flagged(m.runs)
    return table_or(
        "No run was flagged.",
        frame.drop(columns=["group", "tuning", "mtu_B", "streams", "round"]),
        f"Flagged runs: {len(frame)} of {len(m.runs)}",
        heads={"run_id": "run", "goodput_MBps": "MB/s", "message": "reason"},
        formats={"goodput_MBps": cell_texts.number},
        note=" ".join(
            f"{row.flag} ({counted(row.runs, 'run')}): {meaning_of(row.flag)}. "
            f"To do: {remedy_of(row.flag)}."
            for row in conditions.flag_counts(m.runs).itertuples()
        ),
    )


WITHIN_PERCENT = (5, 10, 15)
"""Half widths of intervals that the report counts cells by."""


def precision(m: Measured) -> Tables:
    """Precision of the cells: counts, and each cell that is less precise than asked."""
    cells = m.cells[m.cells["n_valid"] > 0]
    half, asked = reached_percent(cells), m.study.precision
    rows = [(f"within {limit} %", int((half <= limit).sum())) for limit in WITHIN_PERCENT]
    rows += [
        ("wider", int((half > WITHIN_PERCENT[-1]).sum())),
        ("without an interval over rounds", int(half.isna().sum())),
        ("without a valid run", len(m.cells) - len(cells)),
    ]
    rounds = cells["n_valid"]
    note = f"{len(m.cells)} cells; half widths of {_level(m)} intervals, in per cent of the mean."
    if half.isna().all():
        note = f"{len(m.cells)} cells; an interval takes {LEAST_ROUNDS} valid rounds."
    if len(rounds):
        note += f" {printed.reach(rounds, '{:.0f}'.format)} valid runs a cell."
    counts = Table(
        pd.DataFrame(rows, columns=["half of the interval", "cells"]), "Precision", note=note
    )
    if asked is None:
        return Tables((counts,))
    wide = less_precise(m)
    wide = wide.assign(half_width_percent=reached_percent(wide))
    columns = [*any_factors.shown_keys(wide), "half_width_percent", "n_valid", "rounds_needed"]
    limit = f"{asked.half_width_percent:g} %"
    listed = table_or(
        f"Every cell is within {limit}.",
        wide.sort_values("half_width_percent", ignore_index=True)[columns],
        f"Cells less precise than {limit}",
        {"mtu_B": "MTU, B", "half_width_percent": "reached, %", "n_valid": "rounds"}
        | {"rounds_needed": f"rounds for {limit}"},
        {"half_width_percent": ".1f", "rounds_needed": _rounds},
        note="Not ranked. Rounds that it would take, with the spread seen so far.",
    )
    return Tables((counts, listed))


def _rounds(value: float) -> str:
    if math.isnan(value):
        return cell_texts.MISSING
    return "over 10,000" if math.isinf(value) else f"{value:.0f}"


def stability(m: Measured) -> Table:
    """Tests for drift, a step, carry-over from the run before, and rounds that correlate."""
    note = f"Permutation tests over visits; a finding has p below {order_effects.LEVEL:g}."
    shown = m.stability[["test", "text"]].rename(columns={"text": "finding"})
    return Table(shown, "Stability over the campaign", note=note)


def unsupported(m: Measured) -> Table | Sentence:
    """Knobs that the hosts lack."""
    frame, heads = conditions.unsupported(m.runs, m.study), {"tunings": "in tunings"}
    none = "These hosts have every knob of the tunings."
    return table_or(none, frame, "Knobs that a host lacks", heads)


def noise(m: Measured) -> Table:
    """Steal, foreign load, drops, and the spread over rounds."""
    formats = {"median": cell_texts.number, "worst": cell_texts.number}
    return Table(conditions.noise(m.runs), "Noise during the measurement", formats=formats)


def overhead(m: Measured) -> Table:
    """Overhead per run, by block."""
    limit = f"{conditions.OVERHEAD_LIMIT_S:g} s"
    return Table(
        conditions.overhead(m.runs),
        "Time outside warm-up and window, per run",
        heads={"median_s": "median, s", "max_s": "max, s", "above_limit": f"runs above {limit}"},
        formats={"median_s": ".3f", "max_s": ".3f"},
        note="Includes the gap to the next run of the block.",
    )


def latency(m: Measured) -> Table | Sentence:
    """Round trips of the latency probe of each cell, and its goodput."""
    return _further(
        *(m, LATENCY, "The study asked for no latency probe, or it had no answer."),
        "Round trips beside the streams, medians over the valid runs",
        {
            **{"rtt_idle_p50_us": "idle, µs", "rtt_loaded_p50_us": "loaded, µs"},
            **{"rtt_loaded_p99_us": "loaded, 99 %, µs", "added_latency_us": "added, µs"},
            **{"added_forward_us": "there, µs", "added_return_us": "back, µs"},
            "responsiveness_rpm": "round trips a minute",
        },
        "Idle: before the streams connect. Loaded: within the window. Added: the difference of the "
        "medians, and of those of each way. Round trips a minute: 60 s over the mean within the "
        "window.",
    )


def latency_percentiles(m: Measured) -> Table | Sentence:
    """Percentiles of the round trips under load of each cell, its runs together."""
    return _further(
        *(m, LATENCY, "No run has a histogram of its latency probe."),
        "Percentiles of the round trips beside the streams, all runs of a cell together",
        {
            **{"probes": "probes", "rtt_p50_us": "50 %, µs", "rtt_p90_us": "90 %, µs"},
            **{"rtt_p99_us": "99 %, µs", "rtt_p99.9_us": "99.9 %, µs"},
            "rtt_max_us": "largest, µs",
        },
        "A percentile is missing where there are too few probes.",
        cells_with=with_percentiles,
    )


def latency_over_tcp(m: Measured) -> Table | Sentence:
    """Round trips of the probe over TCP of each cell, and its goodput."""
    return _further(
        *(m, OVER_TCP, "The study asked for no latency probe over TCP, or it had no answer."),
        "Round trips over a TCP connection beside the streams, medians over the valid runs",
        {
            **{"tcp_rtt_idle_p50_us": "idle, µs", "tcp_rtt_loaded_p50_us": "loaded, µs"},
            "tcp_rtt_loaded_p99_us": "loaded, 99 %, µs",
        },
        "With the streams' congestion control; waiting for lost segments is part of them.",
    )


def datagrams(m: Measured) -> Table | Sentence:
    """Loss, jitter and bursts of loss of each cell of UDP, and its goodput."""
    return _further(
        *(m, DATAGRAMS, "No run of the study sent datagrams."),
        "Loss and jitter of datagrams, medians over the valid runs",
        {"lost_percent": "lost, %", "jitter_us": "jitter, µs", "loss_burst_max": "longest burst"},
        "Lost: sent and not received, of the whole run. Jitter: interarrival jitter of RFC 3550. "
        "Longest burst: datagrams lost in a row.",
    )


def _further(
    m: Measured,
    kind: str,
    without: str,
    title: str,
    heads: Mapping[str, str],
    note: str,
    cells_with: Callable[..., pd.DataFrame] = with_further,
) -> Table | Sentence:
    """Further figures of a kind, by cell; flagged ones are marked."""
    known = cells_with(kind, m.cells, m.runs)
    if known.empty:
        return Sentence(without)
    labels = cell_texts.tuning_labels(m.cells, m.study)
    named = [printed.where(cell, labels) for cell in known.to_dict("records")]
    rates = known["goodput_MBps"].fillna(known["disturbed_MBps"])
    frame = known[["group"]].assign(cell=named, goodput_MBps=rates).join(known[[*heads]])
    texts = frame.iloc[:, 2:].map(cell_texts.number)
    marked = texts.where(known["disturbed"] == "", f"{HOLLOW} " + texts)
    return Table(
        frame.assign(**marked),
        title,
        heads={"goodput_MBps": "MB/s", **heads},
        note=" ".join([note, *printed.cell_notes(known)]),
        data=frame,
    )
