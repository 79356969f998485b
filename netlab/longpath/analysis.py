"""Runs over a long path: slow start, goodput after it, recovery from a loss, and fairness."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from netlab.analysis.cells import batch_means, mean_interval
from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.shares import (
    LEAST_SHARE_S,
    SHARE_ROUND_TRIPS,
    rates_over_time,
    stack_name,
    stack_of_stream,
)
from netlab.congestion import LAWS, WindowLaw
from netlab.errors import NetlabError
from netlab.files.writing import parse_json
from netlab.measure.fairness import jain
from netlab.results.store import Store
from netlab.study import QUICK
from netlab.study.factors import crossed, levels_json, levels_text
from netlab.study.hosts import LabLink
from netlab.study.model import factors_of

# Runs over a long path: end of slow start, and goodput after it.
#
# All values come from the samples of a run: the sink's bytes at every interval, and the sender's
# RTT, congestion window and retransmits.

GROWS = 1.25
"""Least growth in a round trip that counts as slow start, which doubles the window."""

EPISODE_ROUND_TRIPS = 3.0
"""Retransmits further apart than this belong to two losses."""

BATCH_ROUND_TRIPS = 2.0


@dataclass(frozen=True)
class SlowStart:
    """End of the slow start of a stream."""

    end_s: float
    over_s: float
    window_segments: float
    ended_by: str


def slow_start(trace: pd.DataFrame) -> SlowStart:
    trace = trace.sort_values("t_s")
    t_s = trace["t_s"].to_numpy(float)
    window = trace["cwnd_segments"].to_numpy(float)
    again = trace["retransmits"].to_numpy(float)
    rtt_s = trace["rtt_us"].to_numpy(float) / 1e6
    if len(t_s) < 2:
        return SlowStart(math.nan, math.nan, math.nan, "")
    # Samples are the finest resolution, so growth is measured over at least one interval.
    step_s = float(np.median(np.diff(t_s)))
    reach_s = np.maximum(rtt_s, step_s) + step_s / 2
    lost = np.flatnonzero(again > again[0])
    before = np.searchsorted(t_s, t_s - reach_s + 1e-9, side="right") - 1
    settled = (t_s >= t_s[0] + 2 * reach_s) & (window < GROWS * window[before])
    flat = np.flatnonzero(settled & (before >= 0))
    ends = [(lost[0], "loss")] if len(lost) else []
    ends += [(flat[0], "no more growth")] if len(flat) else []
    if not ends:
        return SlowStart(math.nan, math.nan, float(window.max()), "")
    at, ended_by = min(ends)
    # After an overshoot the window stops before the first retransmit is counted.
    soon = at + np.searchsorted(t_s[at:], t_s[at] + EPISODE_ROUND_TRIPS * reach_s[at])
    over_s = t_s[at]
    if len(lost) and lost[0] < soon:
        ended_by = "loss"
        over_s = episode_end_s(t_s, again, reach_s, int(lost[0]))
    return SlowStart(float(t_s[at]), float(over_s), float(window[: soon + 1].max()), ended_by)


def episode_end_s(t_s: np.ndarray, again: np.ndarray, rtt_s: np.ndarray, at: int) -> float:
    """Time of the last retransmit of the loss at sample `at`, plus one round trip."""
    last = at
    for k in np.flatnonzero(np.diff(again) > 0) + 1:
        if k > last and t_s[k] - t_s[last] <= EPISODE_ROUND_TRIPS * rtt_s[last]:
            last = int(k)
    return float(t_s[last] + rtt_s[last])


def carried(intervals: pd.DataFrame, since_s: float) -> pd.DataFrame:
    """Payload rate of a run in each interval that lies between `since_s` and the run's end."""
    inside = intervals[intervals["in_window"]]
    until_s = inside["t_s"].max() if len(inside) else -math.inf
    begins_s = intervals["t_s"] - intervals["interval_s"]
    kept = intervals[(begins_s >= since_s - 1e-9) & (intervals["t_s"] <= until_s + 1e-9)]
    sums = kept.groupby("t_s", as_index=False).agg(
        moved=("bytes", "sum"), interval_s=("interval_s", "max")
    )
    rate_Mbps = sums["moved"] * 8 / sums["interval_s"] / 1e6
    return sums[["t_s", "interval_s"]].assign(goodput_Mbps=rate_Mbps)


def batched_interval(
    values: np.ndarray, step_s: float, rtt_s: float, confidence: float
) -> tuple[float, float]:
    """Mean of correlated samples, and half its interval from means of batches of round trips."""
    values = np.asarray(values, dtype=float)
    if not len(values):
        return math.nan, math.nan
    least = max(1, math.ceil(BATCH_ROUND_TRIPS * rtt_s / step_s)) if step_s > 0 else len(values)
    return float(values.mean()), mean_interval(batch_means(values, least), confidence)[1]


def after_slow_start(
    runs: pd.DataFrame, intervals: pd.DataFrame, traces: pd.DataFrame, confidence: float = 0.95
) -> pd.DataFrame:
    """Goodput of each run after the slow start of all its streams."""
    rows = []
    by_run = dict(list(intervals.groupby("run_id", sort=False)))
    traced = dict(list(traces.groupby("run_id", sort=False)))
    for run_id in runs["run_id"]:
        row = {"run_id": run_id, "ended_by": ""}
        if run_id in traced and run_id in by_run:
            streams = traced[run_id].groupby(["direction", "stream"])
            starts = [slow_start(part) for _, part in streams]
            since_s = float(np.max([s.over_s for s in starts]))  # NaN if one is not over
            rate = carried(by_run[run_id], since_s)
            step_s = float(rate["interval_s"].median()) if len(rate) else 0.0
            rtt_s = float(traced[run_id]["rtt_us"].median()) / 1e6
            mean, half = batched_interval(
                rate["goodput_Mbps"].to_numpy(), step_s, rtt_s, confidence
            )
            row |= {
                "slow_start_s": float(np.max([s.end_s for s in starts])),
                "since_s": since_s,
                "ended_by": ", ".join(sorted({s.ended_by or "not over" for s in starts})),
                "top_segments": max(s.window_segments for s in starts),
                "mean_Mbps": mean,
                "half_width_Mbps": half,
                "after_s": float(rate["interval_s"].sum()),
            }
        rows.append(row)
    numbers = ["slow_start_s", "since_s", "top_segments", "mean_Mbps", "half_width_Mbps", "after_s"]
    frame = pd.DataFrame(rows, columns=["run_id", "ended_by", *numbers])
    return frame.astype(dict.fromkeys(numbers, float))


FACTORS = ("txqueuelen", "memory", "windows")
_MEMORY = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def factors(runs: pd.DataFrame) -> pd.DataFrame:
    """Settings of a sender that vary from run to run, as read back."""
    rows = []
    for run in runs.itertuples():
        knobs = parse_json(run.knobs, "knobs").get(run.sender, {})
        receiver_B = run.buffer_B if pd.isna(run.receive_buffer_B) else run.receive_buffer_B
        memory = "; ".join(" ".join(str(knobs.get(name, "")).split()) for name in _MEMORY)
        windows = f"{window(run.buffer_B)}/{window(receiver_B)}"
        rows.append((run.run_id, run.mtu_B, knobs.get("txqueuelen", ""), memory, windows))
    return pd.DataFrame(rows, columns=["run_id", "mtu_B", *FACTORS])


def window(size_B: float) -> str:
    """A window as the page writes it: ``40 M`` is 40 MiB; 0 is the kernel's choice."""
    if size_B == 0:
        return "kernel's"
    mebi = size_B / 2**20
    return f"{mebi:.0f} M" if mebi == round(mebi) else f"{size_B / 1e6:.1f} MB"


def single_changes(runs: pd.DataFrame) -> pd.DataFrame:
    """Pairs of runs of one MTU that differ in exactly one of :data:`FACTORS`."""
    rows = []
    for one, other in combinations(factors(runs).to_dict("records"), 2):
        changed = [name for name in FACTORS if one[name] != other[name]]
        if one["mtu_B"] == other["mtu_B"] and len(changed) == 1:
            (name,) = changed
            rows.append((name, one[name], other[name], one["run_id"], other["run_id"]))
    columns = ["factor", "from_level", "to_level", "from_run", "to_run"]
    return pd.DataFrame(rows, columns=columns)


# Fairness of several flows on a path: Jain's index over time, and its mean with an interval.


def fairness(
    runs: pd.DataFrame, intervals: pd.DataFrame, traces: pd.DataFrame, confidence: float = 0.95
) -> pd.DataFrame:
    """The index of every run of several flows, over its window."""
    rows = []
    for run in runs[runs["streams"] > 1].itertuples():
        part = intervals[intervals["run_id"] == run.run_id]
        part, trace = part[part["direction"] == "forward"], traces[traces["run_id"] == run.run_id]
        window = part[part["in_window"]]
        if window.empty or trace.empty:
            continue
        rtt_s = float(trace["rtt_us"].median()) / 1e6
        moved = window.groupby("stream")[["bytes", "interval_s"]].sum()
        means = moved["bytes"] * 8e-6 / moved["interval_s"]
        begin_s = (window["t_s"] - window["interval_s"]).min()
        over_time = rates_over_time(part, rtt_s)
        inside = over_time.loc[over_time.index > begin_s, "jain"].dropna()
        step_s = float(window["interval_s"].median())
        # Neighbouring running means share all but one of their samples.
        width_s = max(rtt_s, SHARE_ROUND_TRIPS * rtt_s / 2, LEAST_SHARE_S / 2)
        interval = batched_interval(inside.to_numpy(), step_s, width_s, confidence)
        flows = [stack_of_stream(run.congestion, int(stream)) for stream in means.index]
        whole = float(jain(means.to_numpy()))
        rows.append((run.run_id, flows, means.tolist(), whole, *interval))
    columns = ["run_id", "flows", "flows_Mbps", "jain_of_means", "jain", "half_width"]
    return pd.DataFrame(rows, columns=columns)


# Cost of a loss: the window before and after it, and the time to recover.

LAW_OF_STACK = {law.name: law for law in LAWS}
BACK = 0.99
"""Share of the old window that counts as recovered: samples miss the exact maximum."""

LEAST_FOR_SLOPE = 4
LAW_COLUMNS = ("law_kept", "law_growth_segments", "law_recovery_s")


@dataclass(frozen=True)
class Recovery:
    """One loss in the trace of a stream."""

    before_segments: float
    least_segments: float
    kept: float
    growth_segments: float
    recovery_s: float
    seen_s: float
    rtt_ms: float


def recovery(trace: pd.DataFrame, loss_s: float) -> Recovery | None:
    """Follow the window of one stream through a loss."""
    trace = trace.sort_values("t_s")
    t_s = trace["t_s"].to_numpy(float)
    window = trace["cwnd_segments"].to_numpy(float)
    at = int(np.searchsorted(t_s, loss_s, side="right")) - 1
    if at < 0 or at >= len(t_s) - 1:
        return None
    rtt_s = float(trace["rtt_us"].iloc[at]) / 1e6
    step_s = float(np.median(np.diff(t_s)))
    # The sender learns of the loss a round trip later, and reduces the window over another one.
    until = int(np.searchsorted(t_s, loss_s + EPISODE_ROUND_TRIPS * rtt_s + step_s, side="right"))
    before = float(window[at:until].max())
    top = at + int(np.argmax(window[at:until]))
    least = float(window[top:until].min())
    if least >= before:
        return None
    low = top + int(np.flatnonzero(window[top:until] == least)[-1])
    back = np.flatnonzero(window[low:] >= BACK * before)
    end = low + int(back[0]) if len(back) else len(t_s) - 1
    rtt_ms = float(trace["rtt_us"].iloc[low : end + 1].mean()) / 1e3
    growth = math.nan
    if end - low >= LEAST_FOR_SLOPE:
        slope = np.polyfit(t_s[low : end + 1], window[low : end + 1], 1)[0]
        growth = float(slope) * rtt_ms / 1e3
    return Recovery(
        before_segments=before,
        least_segments=least,
        kept=least / before,
        growth_segments=growth,
        recovery_s=float(t_s[end] - loss_s) if len(back) else math.nan,
        seen_s=float(t_s[-1] - loss_s),
        rtt_ms=rtt_ms,
    )


def law_growth(law: WindowLaw, low: float, round_trips: float) -> float:
    """Mean segments that a law gains in a round trip, over several from a window on."""
    window, steps = low, max(1, round(round_trips))
    for _ in range(steps):
        window += law.growth(window)
    return (window - low) / steps


def beside_law(stack: str, found: Recovery) -> dict[str, float]:
    """Prediction of the stack's published law for the same loss."""
    law, before = LAW_OF_STACK.get(stack), found.before_segments
    if law is None or before < 2:
        return dict.fromkeys(LAW_COLUMNS, math.nan)
    seen_s = found.seen_s if math.isnan(found.recovery_s) else found.recovery_s
    growth = law_growth(law, found.least_segments, 1e3 * seen_s / found.rtt_ms)
    recovery_s = law.recovery_s(before, found.rtt_ms)
    return dict(zip(LAW_COLUMNS, (law.kept(before), growth, recovery_s), strict=True))


def recoveries(runs: pd.DataFrame, traces: pd.DataFrame) -> pd.DataFrame:
    """Every forced loss of a study beside the prediction of its stack's law."""
    rows = []
    traced = dict(list(traces.groupby("run_id", sort=False)))
    lost = runs[runs["forced_loss_s"].notna()] if "forced_loss_s" in runs else runs.iloc[:0]
    for run in lost.itertuples():
        part = traced.get(run.run_id)
        if part is None or run.streams != 1:
            continue
        recovered = recovery(part[part["direction"] == "forward"], float(run.forced_loss_s))
        if recovered is not None:
            stack = stack_name(run.congestion)
            row = {"run_id": run.run_id, "stack": stack, "loss_s": float(run.forced_loss_s)}
            rows.append(row | asdict(recovered) | beside_law(stack, recovered))
    columns = ["run_id", "stack", "loss_s", *Recovery.__dataclass_fields__, *LAW_COLUMNS]
    return pd.DataFrame(rows, columns=columns)


# A study of a long path, loaded: its runs by part, and their series on common axes.


QUANTITIES = {
    "goodput": "goodput, Mb/s",
    "window": "window, segments",
    "rtt": "RTT, ms",
    "retransmits": "retransmits",
    "queue": "queue, MB",
}
"""Quantities of a run over time, with the unit; the queue only on an emulated path."""

MOST_POINTS = 1200


def label_of(run: Mapping) -> str:
    """Name of a run among those of its part: its group's, or its stacks where they are a factor."""
    levels = parse_json(run["factors"] or "{}", "factors")
    stacks = levels.pop("congestion", None)
    name = str(run["group"])
    if stacks is not None:
        name = " and ".join(stack_of_stream(stacks, stream) for stream in range(run["streams"]))
    return ", ".join(filter(None, (name, levels_text(tuple(levels.items())))))


@dataclass(frozen=True)
class LongPath:
    measured: Measured
    intervals: pd.DataFrame
    traces: pd.DataFrame
    paths: pd.DataFrame

    @property
    def runs(self) -> pd.DataFrame:
        """All runs, flagged ones included."""
        return self.measured.runs

    @property
    def short(self) -> bool:
        return self.measured.study.name.endswith(QUICK)

    @cached_property
    def table(self) -> pd.DataFrame:
        """Every run with its part of the study, its goodput after slow start, and a label."""
        study, runs = self.measured.study, self.runs
        parts = {group.name: group.part for group in study.groups}
        levels = [levels_json(at) for g in study.groups for at in crossed(factors_of(study, g))]
        after = after_slow_start(runs, self.intervals, self.traces, study.confidence)
        frame = runs.assign(
            part=runs["group"].map(parts).fillna(""),
            place=runs["group"].map({name: at for at, name in enumerate(parts)}),
            level=runs["factors"].map({text: at for at, text in enumerate(dict.fromkeys(levels))}),
            label=[label_of(run) for run in runs.to_dict("records")],
        )
        keys = ["place", "level", "mtu_B", "tuning", "round"]
        upwards = [key != "mtu_B" for key in keys]
        return frame.merge(after, on="run_id").sort_values(keys, ascending=upwards)

    def part(self, name: str, mtu_B: int | None = None) -> pd.DataFrame:
        """The runs of one part of :attr:`table`, in the study's order, with frames of one size."""
        runs = self.table[self.table["part"] == name]
        return runs if mtu_B is None else runs[runs["mtu_B"] == mtu_B]

    @property
    def compared(self) -> pd.DataFrame:
        """The runs that compare stacks, or all if the study has no such part."""
        compared = self.part("comparison")
        return compared if len(compared) else self.table

    @cached_property
    def recoveries(self) -> pd.DataFrame:
        return recoveries(self.runs, self.traces)

    @cached_property
    def fairness(self) -> pd.DataFrame:
        confidence = self.measured.study.confidence
        return fairness(self.runs, self.intervals, self.traces, confidence)

    def rtt_ms(self, path: str) -> float:
        """Round-trip time of an emulated path without its queue, as configured."""
        emulator = self._link(path).emulator
        return math.nan if emulator is None else sum(emulator.each_way_ms)

    def payload_limit_Mbps(self, run: Mapping) -> float:
        """Payload rate of the path of a run; NaN if the path has no rate."""
        ends = self.measured.study.paths[run["path"]].ends
        rate_Mbps = self._link(run["path"]).shaped_Mbps[run["sender"] != ends[0].host]
        mss_B = run["mtu_B"] - 52 if pd.isna(run["mss_B"]) else run["mss_B"]
        return math.nan if rate_Mbps is None else float(rate_Mbps * mss_B / (run["mtu_B"] + 14))

    def _link(self, path: str) -> LabLink:
        return self.measured.study.paths[path].link or LabLink()

    def series(self, run: pd.Series) -> dict[str, pd.DataFrame]:
        """One run over time: each of :data:`QUANTITIES` as ``t_s``, ``stream``, ``value``."""
        of_run, trace, queue = (
            table[table["run_id"] == run["run_id"]]
            for table in (self.intervals, self.traces, self.paths)
        )
        inside = of_run[of_run["in_window"]]
        until_s = (inside if len(inside) else of_run)["t_s"].max()
        of_run, queue = (table[table["direction"] == "forward"] for table in (of_run, queue))
        of_run, trace, queue = (table[table["t_s"] <= until_s] for table in (of_run, trace, queue))
        values = {
            "goodput": of_run.assign(value=of_run["bytes"] * 8e-6 / of_run["interval_s"]),
            "window": trace.assign(value=trace["cwnd_segments"]),
            "rtt": trace.assign(value=trace["rtt_us"] / 1e3),
            "retransmits": trace.assign(value=trace["retransmits"]),
            "queue": queue.assign(value=queue["queue_B"] / 1e6, stream=0),
        }
        return {
            name: pd.concat(
                [thinned(part) for _, part in frame.groupby("stream")], ignore_index=True
            )
            if len(frame)
            else frame[["t_s", "stream", "value"]]
            for name, frame in values.items()
        }

    def shares(self, run: dict) -> pd.DataFrame:
        of_run = self.intervals[self.intervals["run_id"] == run["run_id"]]
        rtt_us = self.traces.loc[self.traces["run_id"] == run["run_id"], "rtt_us"].median()
        return rates_over_time(of_run[of_run["direction"] == "forward"], float(rtt_us) / 1e6)

    def stack(self, run: pd.Series, stream: int = 0) -> str:
        return stack_of_stream(run["congestion"], stream)


def thinned(samples: pd.DataFrame) -> pd.DataFrame:
    """Samples of a line, reduced to means of neighbours beyond :data:`MOST_POINTS`."""
    samples = samples.sort_values("t_s")[["t_s", "stream", "value"]]
    if len(samples) <= MOST_POINTS:
        return samples
    bins = np.arange(len(samples)) * MOST_POINTS // len(samples)
    return samples.astype(float).groupby(bins).mean()


def seconds_mean(samples: pd.DataFrame) -> pd.DataFrame:
    """Mean rate of each second, at its end; a late sample is of the one it should have ended."""
    if samples.empty:
        return samples[["t_s", "value"]]
    last_s, steps_s = samples["t_s"].max(), np.diff(np.unique(samples["t_s"]))
    late_s = np.median(steps_s) / 4 if len(steps_s) else 0.0
    grouped = samples.groupby(np.ceil(samples["t_s"] - late_s - 1e-6))["value"].mean()
    if len(grouped) > 1 and last_s < grouped.index[-1] - 0.5 - 1e-6:
        grouped = grouped.iloc[:-1]
    t_s = np.minimum(grouped.index.to_numpy(), last_s)
    return pd.DataFrame({"t_s": t_s, "value": grouped.to_numpy()})


def traced(results: str | Path) -> bool:
    """True if a store contains traces of senders."""
    return any((Path(results) / "traces").glob("*.parquet"))


def is_traced(measured: Measured) -> bool:
    """True of traced runs on emulated paths."""
    links = [measured.study.paths[name].link for name in measured.runs["path"].unique()]
    emulated = all(link is not None and link.emulator is not None for link in links)
    return emulated and traced(measured.results)


@computed_once
def samples_of(measured: Measured) -> LongPath:
    """Add the samples of its runs to a study of a long path."""
    store = Store(measured.results)
    if not traced(measured.results):
        text = f"{measured.results} holds no traces; the study needs trace: true"
        raise NetlabError(text, code="E-ANALYSIS-010")
    samples = measured.intervals
    at = measured.campaign
    intervals = store.rows("intervals", campaign=at) if samples is None else samples
    traces, paths = (store.rows(table, campaign=at) for table in ("traces", "paths"))
    return LongPath(measured, intervals, traces, paths)
