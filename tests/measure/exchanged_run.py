"""A run between two scripted agents."""

import copy
from dataclasses import replace

from measure.scripted import SECOND_NS, Clock, good_agent, request, side

from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import Direction, measure


def asked(what=None, a=(), b=(), **options) -> tuple[dict, dict]:
    """Words of the requests to sink and gen of a good run; both ends may have changes."""
    clock = Clock()
    one, other = good_agent(clock), good_agent(clock)
    ends = replace(side("a", one), **dict(a)), replace(side("b", other), **dict(b))
    measure(*ends, what or request(), now=clock, **options)
    assert one.asked("sink") == other.asked("gen") == []
    (sink,), (gen,) = other.asked("sink"), one.asked("gen")
    return sink, gen


BELOW_US = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000]


def report(t_ns: int = 0, **changes) -> dict:
    """A report of an idle emulator; `changes` apply to both directions."""
    way = {
        "delay_us": 5000,
        "in_packets": 0,
        "in_bytes": 0,
        **dict.fromkeys(("out_packets", "stored_packets", "passed_packets", "passed_bytes"), 0),
        "in_datagrams": 0,
        "out_datagrams": 0,
        "dropped": dict.fromkeys(("queue", "loss", "forced", "memory", "malformed", "refused"), 0),
        **{"forced_ns": None, "marked": 0},
        "max_queue_B": 0,
        "max_queue_packets": 0,
        "lateness": {"max_ns": 0, "late": 0, "below_us": BELOW_US, "count": [0] * 12},
    }
    ways = [{**copy.deepcopy(way), "direction": name, **changes} for name in ("ab", "ba")]
    process = {"user_us": 0, "system_us": 0, "waited_us": 0}
    return {"t_ns": t_ns, "process": process, "directions": ways, "samples": None}


def between(before: dict, after: dict, forward: str = "ab") -> Emulated:
    before["t_ns"], after["t_ns"] = 9 * SECOND_NS, 13 * SECOND_NS
    return Emulated(before, after, forward)


FLOWS = (Direction(gen={}, sink={"t_go_ns": 10 * SECOND_NS}),)
