"""Reports of an emulator, made up: what two of them say of the time between them."""

import copy

BELOW_US = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000]


def report(t_ns: int = 0, **changes) -> dict:
    """A report of an idle emulator; `changes` apply to both directions."""
    way = {
        "delay_us": 5000,
        "in_packets": 0,
        "in_bytes": 0,
        "dropped": dict.fromkeys(("queue", "loss", "forced", "memory", "malformed", "refused"), 0),
        "forced_ns": None,
        "max_queue_B": 0,
        "max_queue_packets": 0,
        "lateness": {"max_ns": 0, "late": 0, "below_us": BELOW_US, "count": [0] * 12},
    }
    ways = [{**copy.deepcopy(way), "direction": name, **changes} for name in ("ab", "ba")]
    process = {"user_us": 0, "system_us": 0, "waited_us": 0}
    return {"t_ns": t_ns, "process": process, "directions": ways, "samples": None}


def late(writes: dict[int, int], max_us: float) -> dict:
    """Lateness of the given number of writes below each edge of the bins; 0 is the open bin."""
    count = [writes.get(edge, 0) for edge in (*BELOW_US, 0)]
    return {"max_ns": round(max_us * 1000), "late": 0, "below_us": BELOW_US, "count": count}
