"""Columns and queue samples of a run from two reports of its emulator.

The emulator stamps its samples with the clock of the lab's hosts, so they share an axis with the
run's intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from netlab.measure.exchange import Direction

LATE_ONE_IN = 100
"""Lateness of an emulator: a bound that all but one in this many writes met."""


HOPS_OF_REPORT = ("directions", "second")
"""Keys of a report, one a link of the path in a row."""


@dataclass(frozen=True)
class Emulated:
    """One run from the point of view of the emulator between its ends."""

    before: dict
    after: dict
    forward: str
    longest_rtt_us: float = 0.0
    """Of flows with round trips of their own."""

    def ways(self, hop: int = 0) -> Iterator[tuple[str, dict, dict]]:
        """Name, before and after of each direction of a link, the run's forward one first."""
        part = HOPS_OF_REPORT[hop]
        for index in (0, 1) if self.forward == "ab" else (1, 0):
            then, now = (report[part][index] for report in (self.before, self.after))
            yield now["direction"], then, now

    @property
    def hops(self) -> range:
        """Links in a row: one or two."""
        return range(sum(part in self.after for part in HOPS_OF_REPORT))

    def _ways(self) -> Iterator[tuple[str, dict, dict]]:
        """Each direction of all links."""
        return (way for hop in self.hops for way in self.ways(hop))

    def _grown(self, name: str) -> int:
        return sum(now[name] - then[name] for _, then, now in self._ways())

    def datagrams(self) -> Iterator[tuple[int, int]]:
        """Datagrams that reached the emulator and left it in the run, of each direction."""
        for links in zip(*map(self.ways, self.hops), strict=True):
            # the second end's packets pass the second link first
            in_order = links if links[0][0] == "ab" else links[::-1]
            (_, then, now), (_, then_out, now_out) = in_order[0], in_order[-1]
            yield (
                now["in_datagrams"] - then["in_datagrams"],
                now_out["out_datagrams"] - then_out["out_datagrams"],
            )

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
        """Configured round-trip time of the emulator, without queueing, or the longest of flows."""
        return self.longest_rtt_us or float(sum(now["delay_us"] for _, _, now in self._ways()))

    @property
    def has_bursts(self) -> bool:
        """True if losses come in bursts."""
        return any(now["enter_bad_ppb"] for _, _, now in self._ways())

    @property
    def queue_s(self) -> float:
        """Time in the deepest queues of all links of a direction."""
        of_way: dict[str, float] = {}
        for way, _, now in self._ways():
            bytes_per_s = now["rate_bps"] / 8
            wait_s = now["max_queue_B"] / bytes_per_s if bytes_per_s else 0.0
            of_way[way] = of_way.get(way, 0.0) + wait_s
        return max(of_way.values())

    @property
    def late_us(self) -> float | None:
        """Bound of the lateness of all writes but one in 100 (of fewer, all but one)."""
        return self._late_us(lambda writes: max(1, writes // LATE_ONE_IN) if writes > 1 else 0)

    @property
    def surely_late_us(self) -> float | None:
        """The same, but for as many more writes as chance adds: twice the deviation of a count."""

        def allowed(writes: int) -> int:
            expected = writes / LATE_ONE_IN
            return int(expected + 2 * math.sqrt(expected))

        return self._late_us(allowed)

    def _late_us(self, allowed: Callable[[int], int]) -> float | None:
        ways = list(self._ways())
        bins = [[np.array(end["lateness"]["count"]) for end in way[1:]] for way in ways]
        counts = sum(now - then for then, now in bins)
        writes = int(counts.sum())
        if not writes:
            return None
        above = writes - np.cumsum(counts)
        longest_us = max(now["lateness"]["max_ns"] for _, _, now in ways) / 1e3
        edges_us = [*ways[0][2]["lateness"]["below_us"], np.inf]
        return float(min(edges_us[int(np.argmax(above <= allowed(writes)))], longest_us))

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
        readings = sorted([*reports, *zip(samples["t_ns"], samples["cpu_us"], strict=True)])
        at_ns, used_us = np.array(readings, dtype=np.float64).T
        begin_us, end_us = np.interp([t0_ns, t1_ns], at_ns, used_us)
        return float(end_us - begin_us)

    def columns(self, flows: tuple[Direction, ...]) -> dict:
        """The columns of :data:`~netlab.results.columns.RUN_COLUMNS` that are the path's."""
        ways = list(self._ways())
        forced = None
        go_ns = flows[0].sink["t_go_ns"]
        if go_ns and self.dropped("forced"):
            stamps = [now["forced_ns"] for _, _, now in ways if now["forced_ns"] is not None]
            forced = (max(stamps) - go_ns) / 1e9
        cpu_us = self.cpu_us(self.before["t_ns"], self.after["t_ns"])
        return {
            "path_rtt_us": self.rtt_us,
            # a packet that passes both links counts once
            "path_packets": self._grown("in_packets") - self._grown("passed_packets"),
            "path_B": self._grown("in_bytes") - self._grown("passed_bytes"),
            "path_drops": self.dropped(),
            "path_datagram_drops": sum(taken - left for taken, left in self.datagrams()),
            "path_queue_drops": self.dropped("queue"),
            "path_marked": self._grown("marked"),
            "path_forced_drops": self.dropped("forced"),
            "forced_loss_s": forced,
            "path_queue_max_B": max(now["max_queue_B"] for _, _, now in ways),
            "path_queue_max_packets": max(now["max_queue_packets"] for _, _, now in ways),
            "emulator_late_us": self.late_us,
            "emulator_cpu_percent": 1e5 * cpu_us / self._elapsed_ns,
            "emulator_waited_percent": self.waited_percent,
        }

    def rows(self, run_id: str, flows: tuple[Direction, ...]) -> list[dict]:
        """The queues of each direction at every sample from the common start on, as columns."""
        samples = self.after["samples"] or {}
        t_ns = np.asarray(samples.get("t_ns", []), dtype=np.int64)
        t_s = (t_ns - flows[0].sink["t_go_ns"]) / 1e9
        if not t_ns.size or not flows[0].sink["t_go_ns"]:
            return []
        parts = []
        for hop, of in zip(self.hops, ("", " second"), strict=False):
            for direction, (way, then, _) in zip(
                ("forward", "reverse"), self.ways(hop), strict=True
            ):
                link = way + of.replace(" ", "_")
                dropped = np.asarray(samples[f"{link}_dropped"], dtype=np.int64)
                queues = ("queue_B", "queue_packets")
                columns = {
                    "t_s": t_s,
                    **{name: np.asarray(samples[f"{link}_{name}"], np.int64) for name in queues},
                    "drops": np.diff(dropped, prepend=sum(then["dropped"].values())),
                }
                begun = {key: values[t_s >= 0] for key, values in columns.items()}
                parts.append({"run_id": run_id, "direction": direction + of, **begun})
        return parts
