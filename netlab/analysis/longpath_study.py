"""A study of a long path, loaded: its runs by part, and their series on common axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from netlab.analysis.longpath import after_slow_start, fairness, recoveries, shares, stack_of_stream
from netlab.analysis.measured import Measured, computed_once
from netlab.errors import NetlabError
from netlab.files.json_file import parse_json
from netlab.results.store import Store
from netlab.study import QUICK
from netlab.study.factors import crossed, levels_json, levels_text
from netlab.study.groups import factors_of
from netlab.study.hosts import LabLink

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
    """A measured study with the samples of its runs."""

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
        rate_Mbps = self._link(run["path"]).shaped_Mbps
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
        return shares(of_run[of_run["direction"] == "forward"], float(rtt_us) / 1e6)

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


def on_long_path(measured: Measured) -> bool:
    """True if a study's senders were traced and all its paths are emulated."""
    links = [measured.study.paths[name].link for name in measured.runs["path"].unique()]
    emulated = all(link is not None and link.emulator is not None for link in links)
    return emulated and traced(measured.results)


@computed_once
def samples_of(measured: Measured) -> LongPath:
    """Add the samples of its runs to a study of a long path."""
    store = Store(measured.results)
    if not traced(measured.results):
        raise NetlabError(
            f"{measured.results} holds no traces; the study needs trace: true",
            code="E-ANALYSIS-010",
        )
    samples = measured.intervals
    at = measured.campaign
    intervals = store.rows("intervals", campaign=at) if samples is None else samples
    traces, paths = (store.rows(table, campaign=at) for table in ("traces", "paths"))
    return LongPath(measured, intervals, traces, paths)
