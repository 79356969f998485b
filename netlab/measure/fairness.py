"""Shares of a run's streams in its window: Jain's index, and streams without a byte."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from netlab.errors import check
from netlab.files.run_results import SentEnd
from netlab.measure.exchange import Direction, tcp_of
from netlab.measure.ledger import datagram_B
from netlab.measure.spans import Spans

STALL_S = 0.2
"""TCP's least retransmission timeout: a silence longer than it and the loaded RTT is a stall."""

TIMEOUTS = 3
"""A stream that lost a segment and its retransmission is silent for three: the second is double."""

LEAST_PACKETS = 10
"""Packets that the pace of a stream allows in the window; below, silence may be its pace."""


def jain(rates: np.ndarray) -> np.ndarray:
    """Jain's index (DEC-TR-301, 1984): 1 for equal shares, 1/n if one of n flows gets all."""
    rates = np.asarray(rates, dtype=float)
    some = rates.ndim > 0 and rates.shape[-1] > 0
    check(some, "rates", rates.shape, "needs at least one flow", "E-MEASURE-009")
    least = float(rates.min(initial=0))
    check(least >= 0, "rates", least, "must not be below 0", "E-MEASURE-010")
    # Scale first: squares of tiny rates underflow, squares of huge ones overflow.
    most = rates.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = rates / most
        return scaled.sum(axis=-1) ** 2 / (rates.shape[-1] * (scaled**2).sum(axis=-1))


Together = tuple[float, float] | None
"""Time since the start in which all flows of a run are on; None: all the time."""


def stream_columns(
    flows: Sequence[Direction], together_s: Together = None, spans: Spans | None = None
) -> dict[str, float | int | None]:
    """Index of the direction or link that shared less evenly, and all streams without a byte.

    Of the time of the window in which all flows are on. None where a generator does not count each
    stream.
    """
    counts = [moved for flow in flows if (moved := _moved(flow, together_s)[0]) is not None]
    if not counts or len(counts) < len(flows):
        return {"jain_index": None, "silent_streams": None}
    shared = [*counts] if spans is None else spans.by_link(counts[0])
    indices = [float(jain(moved)) for moved in shared if moved.any()]
    return {
        "jain_index": min(indices, default=None),
        "silent_streams": int(sum((moved == 0).sum() for moved in counts)),
    }


def _moved(flow: Direction, together_s: Together) -> tuple[np.ndarray | None, float]:
    """Bytes of each stream within the sink's window, while all are on, and the time of that, s."""
    sink, window = flow.sink, flow.sink.get("window")
    moved = [stream.get("window_bytes") for stream in sink["per_stream"]]
    if not window or None in moved or not moved:
        return None, 0.0
    t0_ns, t1_ns = window["t0_ns"], window["t1_ns"]
    if together_s is None:
        return np.array(moved), (t1_ns - t0_ns) / 1e9
    t_ns = np.asarray(sink["samples"]["t_ns"], np.int64)
    t_s = (t_ns - sink["t_go_ns"]) / 1e9
    first_s, last_s = together_s
    inside = np.flatnonzero((t_ns >= t0_ns) & (t_ns <= t1_ns) & (t_s >= first_s) & (t_s <= last_s))
    if inside.size < 2:
        return None, 0.0
    first, last = inside[0], inside[-1]
    counts = np.asarray(sink["samples"]["bytes"], np.int64)
    return counts[:, last] - counts[:, first], float(t_s[last] - t_s[first])


def loaded_rtt_s(row: dict) -> float:
    """Round trip through the deepest queue of a run: behind a lost segment nothing comes for it."""
    link_Bps = 1e6 * (row.get("link_MBps") or 0.0)
    queue_s = (row.get("path_queue_max_B") or 0) / link_Bps if link_Bps else 0.0
    queue_s = row.get("path_queue_s") or queue_s  # of two links in a row
    path_s = (row.get("path_rtt_us") or 0.0) / 1e6 + queue_s
    seen_us = [row.get(name) or 0.0 for name in ("min_rtt_us", "rtt_us", "rtt_loaded_max_us")]
    return max(path_s, *(rtt_us / 1e6 for rtt_us in seen_us))


def starved(row: dict, flows: Sequence[Direction], together_s: Together = None) -> str | None:
    """Describe streams without a byte in a window that is long enough for all of them."""
    least_s = TIMEOUTS * (STALL_S + loaded_rtt_s(row))
    for name, flow in zip(("forward", "reverse"), flows, strict=False):
        moved, window_s = _moved(flow, together_s)
        if moved is None or not moved.any() or moved.all():
            continue  # a direction without any byte is stalled
        if window_s >= least_s and _packets(flow.gen, window_s) >= LEAST_PACKETS:
            silent = np.count_nonzero(moved == 0)
            return f"{name}: {silent} of {moved.size} streams had no byte in {window_s:.2f} s"
    return None


def _packets(gen: SentEnd, window_s: float) -> float:
    """Packets that the pace of a stream allows in a window, the least of streams."""
    size_B, least = datagram_B(gen), math.inf
    for stream in gen["per_stream"]:
        packet_B = size_B or tcp_of(stream).get("mss_B") or 1
        least = min(least, (stream.get("pacing_Bps") or math.inf) * window_s / packet_B)
    return least
