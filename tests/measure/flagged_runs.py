"""Runs that are flagged, and such that are not."""

import numpy as np
from measure.scripted import HEADERS_B, result

from netlab.measure.exchange import Direction, RunOutcome
from netlab.study import Timing

TIMING = Timing(rounds=1, seconds=1.0, warmup_s=0.0, interval_ms=100)


FINE = {
    **{"window_s": 1.0, "percent_of_ceiling": 80.0, "ceiling_kind": "bus"},
    **{"steal_percent": 0.0, "foreign_cpu_percent": 0.0, "foreign_traffic_percent": 0.0},
}


def outcome(**result) -> RunOutcome:
    """A run whose two agents gave the same result."""
    answer = {"status": "ok", "message": None, "meter": None, "per_stream": [], **result}
    return RunOutcome((Direction(gen=answer, sink=answer),), started_unix_ns=0, wall_s=1.0)


def intervals(*moved: list[int], direction: str = "forward") -> list[dict]:
    """Samples of each stream, 100 ms each, all in the window."""
    count = sum(map(len, moved))
    return [
        {
            "direction": direction,
            "t_s": np.concatenate([0.1 * np.arange(1, len(one) + 1) for one in moved]),
            "interval_s": np.full(count, 0.1),
            "bytes": np.concatenate(moved),
            "in_window": np.full(count, True),
        }
    ]


BUSY = intervals([1000] * 10)


MTU_B = 1500


MSS_B = 1448


def counted(gen: dict, sink: dict) -> None:
    """Counts of TCP and of the interfaces for a sender of full segments, acknowledged in pairs."""
    total_B = segments = acks = 0
    for sent, got in zip(gen["per_stream"], sink["per_stream"], strict=True):
        own = sent["bytes"] // MSS_B + 1
        sent["tcp"] |= {"bytes_sent": sent["bytes"] + 64, "segs_out": own}
        got["tcp"] |= {"bytes_sent": 1, "bytes_acked": 2, "segs_out": own // 2 + 2}
        total_B += sent["bytes"] + 64
        segments, acks = segments + own, acks + own // 2 + 2
    there = {"bytes": total_B + segments * HEADERS_B, "packets": segments}
    back = {"bytes": acks * HEADERS_B, "packets": acks}
    for end, sends, receives in ((gen, there, back), (sink, back, there)):
        for unit in ("bytes", "packets"):
            interface = end["meter"]["total"]["interface"]
            interface[f"tx_{unit}"], interface[f"rx_{unit}"] = sends[unit], receives[unit]


def foreign_traffic_run(streams: int = 2, each_B: int = 14_000_000) -> RunOutcome:
    gen, sink = (result(role, streams=streams, each_B=each_B) for role in ("gen", "sink"))
    counted(gen, sink)
    return RunOutcome((Direction(gen, sink),), started_unix_ns=0, wall_s=1.0)


def interface(outcome: RunOutcome, end: str) -> dict:
    return getattr(outcome.flows[0], end)["meter"]["total"]["interface"]


LATE = {"status": "timeout", "message": "no end"}
MISSING = {"sent_B": 66_738_320, "received_B": 62_523_192}
