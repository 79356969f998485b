"""A study of a long path, loaded: its runs by part, and the factors that differ between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import pandas as pd

from netlab.analysis.measured import Measured, computed_once
from netlab.analysis.share_over_time import rates_over_time
from netlab.analysis.shares import stack_of_stream
from netlab.errors import NetlabError
from netlab.files.recorded_columns import column_json
from netlab.longpath.fairness import fairness
from netlab.longpath.recovery import recoveries
from netlab.longpath.series import thinned, traced, window
from netlab.longpath.slow_start import after_slow_start
from netlab.results.store import Store
from netlab.study import QUICK
from netlab.study.factors import crossed, levels_json, levels_text
from netlab.study.links import LabLink
from netlab.study.model import factors_of

HOST_FACTORS = ("txqueuelen", "memory", "windows")
_MEMORY = ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def factors(runs: pd.DataFrame) -> pd.DataFrame:
    """Settings of a sender that vary from run to run, as read back."""
    rows = []
    for run in runs.itertuples():
        knobs = column_json(run.knobs, "knobs").get(run.sender, {})
        receiver_B = run.buffer_B if pd.isna(run.receive_buffer_B) else run.receive_buffer_B
        memory = "; ".join(" ".join(str(knobs.get(name, "")).split()) for name in _MEMORY)
        windows = f"{window(run.buffer_B)}/{window(receiver_B)}"
        rows.append((run.run_id, run.mtu_B, knobs.get("txqueuelen", ""), memory, windows))
    return pd.DataFrame(rows, columns=["run_id", "mtu_B", *HOST_FACTORS])


def single_changes(runs: pd.DataFrame) -> pd.DataFrame:
    """Pairs of runs of one MTU that differ in exactly one of :data:`HOST_FACTORS`."""
    rows = []
    for one, other in combinations(factors(runs).to_dict("records"), 2):
        changed = [name for name in HOST_FACTORS if one[name] != other[name]]
        if one["mtu_B"] == other["mtu_B"] and len(changed) == 1:
            (name,) = changed
            rows.append((name, one[name], other[name], one["run_id"], other["run_id"]))
    columns = ["factor", "from_level", "to_level", "from_run", "to_run"]
    return pd.DataFrame(rows, columns=columns)


def label_of(run: Mapping) -> str:
    """Name of a run among those of its part: its group's, or its stacks where they are a factor."""
    levels = column_json(run["factors"], "factors")
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
        of_run = of_run[of_run["direction"] == "forward"]
        # bytes that wait on the way, before both of two links
        queue = queue[queue["direction"].str.startswith("forward")]
        queue = queue.groupby("t_s", as_index=False)["queue_B"].sum()
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
