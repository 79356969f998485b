"""Columns and queue samples of a run from two reports of its emulator.

The emulator stamps its samples with the clock of the lab's hosts, so they share an axis with the
run's intervals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.measure.exchange import Direction

LATE_ONE_IN = 100
"""Lateness of an emulator: a bound that all but one in this many writes met."""

PATH_FIELDS = ("run_id", "direction", "t_s", "queue_B", "queue_packets", "drops")


@dataclass(frozen=True)
class Emulated:
    """One run from the point of view of the emulator between its ends."""

    before: dict
    after: dict
    forward: str

    def _ways(self) -> Iterator[tuple[str, dict, dict]]:
        """Name, before and after of each direction, the run's forward one first."""
        for index in (0, 1) if self.forward == "ab" else (1, 0):
            then, now = (report["directions"][index] for report in (self.before, self.after))
            yield now["direction"], then, now

    def _grown(self, name: str) -> int:
        return sum(now[name] - then[name] for _, then, now in self._ways())

    def dropped(self, why: str | None = None) -> int:
        """Packets dropped in the run, for one reason or for all, both directions."""
        return sum(
            now["dropped"][reason] - then["dropped"][reason]
            for _, then, now in self._ways()
            for reason in now["dropped"]
            if why in (None, reason)
        )

    @property
    def rtt_us(self) -> float:
        """Configured round-trip time of the emulator, without queueing."""
        return float(sum(now["delay_us"] for _, _, now in self._ways()))

    @property
    def late_us(self) -> float | None:
        """Bound of the lateness of all writes but one in 100 (of fewer, of all but one).

        To the upper end of the emulator's bins. None without a write.
        """
        ways = list(self._ways())
        bins = [
            np.subtract(now["lateness"]["count"], then["lateness"]["count"])
            for _, then, now in ways
        ]
        counts = np.sum(bins, axis=0)
        writes = int(counts.sum())
        if not writes:
            return None
        allowed = max(1, writes // LATE_ONE_IN) if writes > 1 else 0
        above = writes - np.cumsum(counts)
        longest_us = max(now["lateness"]["max_ns"] for _, _, now in ways) / 1e3
        edges_us = [*ways[0][2]["lateness"]["below_us"], np.inf]
        return float(min(edges_us[int(np.argmax(above <= allowed))], longest_us))

    @property
    def waited_percent(self) -> float:
        """Share of the time that the emulator waited for a CPU."""
        us = self.after["process"]["waited_us"] - self.before["process"]["waited_us"]
        return 1e5 * us / self._elapsed_ns

    @property
    def _elapsed_ns(self) -> int:
        return max(1, self.after["t_ns"] - self.before["t_ns"])

    def cpu_us(self, t0_ns: int, t1_ns: int) -> float:
        """Processor time of the emulator between two moments of the run."""
        reports = [
            (report["t_ns"], report["process"]["user_us"] + report["process"]["system_us"])
            for report in (self.before, self.after)
        ]
        samples = self.after["samples"] or {"t_ns": [], "cpu_us": []}
        known = sorted([*reports, *zip(samples["t_ns"], samples["cpu_us"], strict=True)])
        at_ns, used_us = np.array(known, dtype=np.float64).T
        begin_us, end_us = np.interp([t0_ns, t1_ns], at_ns, used_us)
        return float(end_us - begin_us)

    def columns(self, flows: tuple[Direction, ...]) -> dict:
        """The columns of :data:`netlab.results.RUN_COLUMNS` that are the path's."""
        ways = list(self._ways())
        begin_ns, end_ns = self.before["t_ns"], self.after["t_ns"]
        forced = None
        go_ns = flows[0].sink["t_go_ns"]
        if go_ns and self.dropped("forced"):
            stamps = [now["forced_ns"] for _, _, now in ways if now["forced_ns"] is not None]
            forced = (max(stamps) - go_ns) / 1e9
        return {
            "path_rtt_us": self.rtt_us,
            "path_packets": self._grown("in_packets"),
            "path_B": self._grown("in_bytes"),
            "path_drops": self.dropped(),
            "path_queue_drops": self.dropped("queue"),
            "path_forced_drops": self.dropped("forced"),
            "forced_loss_s": forced,
            "path_queue_max_B": max(now["max_queue_B"] for _, _, now in ways),
            "path_queue_max_packets": max(now["max_queue_packets"] for _, _, now in ways),
            "emulator_late_us": self.late_us,
            "emulator_cpu_percent": 1e5 * self.cpu_us(begin_ns, end_ns) / self._elapsed_ns,
            "emulator_waited_percent": self.waited_percent,
        }

    def rows(self, run_id: str, flows: tuple[Direction, ...]) -> pd.DataFrame:
        """The queues of both directions at every sample from the common start on."""
        samples = self.after["samples"] or {}
        t_ns = np.asarray(samples.get("t_ns", []), dtype=np.int64)
        t_s = (t_ns - flows[0].sink["t_go_ns"]) / 1e9
        frames = []
        for name, (way, then, _) in zip(("forward", "reverse"), self._ways(), strict=True):
            if not t_ns.size or not flows[0].sink["t_go_ns"]:
                continue
            dropped = np.asarray(samples[f"{way}_dropped"], dtype=np.int64)
            columns = {
                "run_id": run_id,
                "direction": name,
                "t_s": t_s,
                "queue_B": np.asarray(samples[f"{way}_queue_B"], dtype=np.int64),
                "queue_packets": np.asarray(samples[f"{way}_queue_packets"], dtype=np.int64),
                "drops": np.diff(dropped, prepend=sum(then["dropped"].values())),
            }
            frames.append(pd.DataFrame(columns)[t_s >= 0])
        if not frames:
            return pd.DataFrame(columns=list(PATH_FIELDS))
        return pd.concat(frames, ignore_index=True)
