"""One stream over an emulated path, with its congestion window at each acknowledgement."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from native.emulated import ADDRESS, DEVICE, Emulated, emulated, run, transfer
from native.spoken_agent import Agent, request


@contextlib.contextmanager
def cc_session(gensink: Path, *wrapper: str) -> Iterator[Agent]:
    """A `gensink cc` that is ready; `ready` is its first event."""
    holder = Agent(*wrapper, gensink, "cc")
    try:
        holder.ready = holder.receive()
        assert holder.ready["event"] == "ready", holder.ready
        yield holder
    finally:
        if not holder.process.stdin.closed:
            holder.close()


def load(holder: Agent, cc: str, **parameters: int) -> str:
    """Load a congestion control; returns the name for TCP_CONGESTION."""
    event = holder.ask(request("load", {"cc": cc, **parameters}))
    assert event["event"] == "loaded", event
    return event["name"]


@dataclass(frozen=True)
class Trace:
    """A run as its congestion control sees it, one value a sample.

    ``acked`` counts segments that arrived since the start, ``window`` is the congestion window
    in segments, ``t_s`` seconds since the start, which was at ``t0_ns`` of CLOCK_MONOTONIC,
    ``retransmits`` segments sent again so far.
    """

    t0_ns: int
    t_s: np.ndarray
    acked: np.ndarray
    window: np.ndarray
    retransmits: np.ndarray
    ssthresh: int
    emulation: dict

    def between(self, first_s: float, last_s: float) -> slice:
        """Samples of a time."""
        return slice(*np.searchsorted(self.t_s, [first_s, last_s]))

    def before_loss(self) -> int:
        """Last sample before the first segment was sent again."""
        return int(np.flatnonzero(np.diff(self.retransmits) > 0)[0])


def trace_of(
    gensink: Path,
    congestion: str,
    *,
    rate_bps: int,
    rtt_ms: int,
    seconds: float,
    queue_packets: int = 0,
    ssthresh: int = 0,
    **drops: int,
) -> Trace:
    """Run one stream and sample it every 10 ms; `drops` are options of the path from the start."""
    with emulated(gensink) as path:
        path.both(rate_bps=rate_bps, delay_us=rtt_ms * 500, queue_packets=queue_packets)
        path.open(sample_ms=10)
        if ssthresh:
            _begin_with(path, ssthresh)
        with path.agents() as agents:
            if ssthresh:
                # the kernel reads the route's metrics after a first connection has closed
                transfer(path, agents, bytes=1000)
            if drops:
                path.set("ab", **drops)
            timed = {"window_ms": round(seconds * 1000), "tail_ms": 200, "interval_ms": 10}
            fixed = {"congestion": congestion, "buffer_B": 6 << 20, "trace": 1}
            said = transfer(path, agents, **timed, **fixed)
        emulation = path.report(samples=1)
    gen, sink = said["gen"], said["sink"]
    assert (gen["status"], sink["status"]) == ("ok", "ok"), (gen["message"], sink["message"])
    t_ns = np.array(gen["samples"]["t_ns"])
    # drop the samples after the window: the sender only empties its buffer
    t_ns = t_ns[t_ns <= gen["window"]["t1_ns"]]
    count = len(t_ns)
    # at the end of the window: a sender that then runs dry has its threshold raised (RFC 2861)
    (tcp,) = (stream["tcp_t1"] for stream in gen["per_stream"])
    arrived = np.interp(t_ns, sink["samples"]["t_ns"], sink["samples"]["bytes"][0])
    return Trace(
        t0_ns=int(t_ns[0]),
        t_s=(t_ns - t_ns[0]) / 1e9,
        acked=arrived / tcp["mss_B"],
        window=np.array(gen["trace"]["cwnd_segments"][0][:count], dtype=float),
        retransmits=np.array(gen["trace"]["retransmits"][0][:count]),
        ssthresh=tcp["ssthresh_segments"],
        emulation=emulation,
    )


def _begin_with(path: Emulated, ssthresh: int) -> None:
    """Set the end of slow start in the sender's route, so that it needs no loss."""
    off = "echo 0 > /proc/sys/net/ipv4/tcp_no_ssthresh_metrics_save"
    run(*path.inside("a", "sh", "-c", off))
    route = f"replace {ADDRESS['b']} dev {DEVICE} proto kernel scope link src {ADDRESS['a']}"
    ends = f"ssthresh lock {ssthresh}"
    run("ip", "-n", path.names["a"], "route", *route.split(), *ends.split())


def grown(window: float, acked: float, gain: Callable[[float], float], step: float = 10.0) -> float:
    """Window after `acked` segments were acknowledged, each of which adds ``gain(window)``."""
    while acked > 0:
        part = min(step, acked)
        window += part * gain(window)
        acked -= part
    return window
