"""Flows as a sink reads them."""

from measure.scripted import SECOND_NS, result

from netlab.measure.exchange import Direction


def flow(*moved_B: int, window_s: float = 1.0, pacing_Bps: int = 0) -> Direction:
    """A direction whose streams had these bytes in the window, paced at the sender."""
    gen, sink = (result(role, streams=len(moved_B)) for role in ("gen", "sink"))
    for stream, count in zip(sink["per_stream"], moved_B, strict=True):
        stream["window_bytes"] = count
    for stream in gen["per_stream"]:
        stream["pacing_Bps"] = pacing_Bps
    window = sink["window"]
    window |= {"t1_ns": window["t0_ns"] + round(window_s * SECOND_NS), "bytes": sum(moved_B)}
    return Direction(gen, sink)
