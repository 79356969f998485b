"""Datagrams beside the streams of a run: their columns, and reasons why they are not beside all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from netlab.files.run_results import EndResult
from netlab.measure.exchange import RunOutcome, datagrams, window_of
from netlab.units import datagram_share


def cross_columns(outcome: RunOutcome) -> dict[str, float | int | None]:
    """Goodput in the window of the streams; datagrams of the whole run. Empty without any."""
    cross = outcome.cross
    if cross is None:
        return {}
    sent, lost = datagrams("sent", cross.gen), datagrams("lost", cross.sink)
    return {
        "cross_goodput_MBps": _goodput_MBps(outcome),
        "cross_sent_datagrams": sent,
        "cross_lost_percent": 100 * lost / sent if sent else None,
    }


def _goodput_MBps(outcome: RunOutcome) -> float | None:
    """Both sinks are on one host, and so on one clock."""
    assert outcome.cross is not None
    window, samples = outcome.flows[0].sink.get("window"), outcome.cross.sink["samples"]
    t_ns = np.asarray(samples.get("t_ns", ()), np.int64)
    if not window or window["t1_ns"] <= window["t0_ns"] or not t_ns.size:
        return None
    so_far_B = np.asarray(samples["bytes"], np.int64).sum(axis=0)
    first_B, last_B = np.interp([window["t0_ns"], window["t1_ns"]], t_ns, so_far_B)
    return float((last_B - first_B) / (window["t1_ns"] - window["t0_ns"]) * 1e3)


def cross_frames_MBps(goodput_MBps: float | None, datagram_B: float | None, mtu_B: float) -> float:
    """Rate of a link that datagrams of a goodput take, with headers; 0 where there are none."""
    known = (goodput_MBps or 0) > 0 and (datagram_B or 0) > 0  # neither None nor NaN
    return (goodput_MBps or 0) / datagram_share(mtu_B, datagram_B or 0) if known else 0.0


def cross_fault(outcome: RunOutcome) -> str | None:
    """Reason why a run had not its datagrams beside all of its window; None if it had.

    Either end has one clock for its streams and its datagrams.
    """
    if (cross := outcome.cross) is None:
        return None
    ends: Sequence[tuple[str, EndResult]] = (("sender", cross.gen), ("sink", cross.sink))
    for end, result in ends:
        if result.get("status") != "ok":
            return f"{end} of the cross traffic: {result.get('message') or result.get('status')}"
    first = outcome.flows[0]
    late_ns = cross.sink["t_go_ns"] - window_of(first.sink).get("t0_ns", 0)
    if late_ns > 0:
        return f"the cross traffic began {late_ns / 1e9:.2f} s after the window"
    early_ns = window_of(first.gen).get("t1_ns", 0) - cross.gen["t_last_byte_ns"]
    if early_ns > 0:
        return f"the cross traffic ended {early_ns / 1e9:.2f} s before the window"
    return None
