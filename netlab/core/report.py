"""Report of one end of a run on this machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RunReport:
    """Report of a sink or gen at the end of its run.

    Attributes
    ----------
    role : str
        ``"sink"`` or ``"gen"``.
    status, code, message : str
        ``ok``, ``stopped``, ``timeout`` or ``error``; unless ok, why.
    engine, method : str
        I/O engine and method of sending or receiving.
    threads : int
        Number of I/O threads.
    policy : dict
        ``batch_B`` and ``yield_B`` (None: no limit), ``read_delay``, ``sched_batch``, ``spread``;
        the rules are in `native/PROTOCOL.md`.
    completed_bytes, copied_bytes : int
        Of a gen that sent by ``zerocopy``: bytes whose completion the kernel reported, and
        those of them that it copied.
    mapped_bytes : int
        Of a sink that received by ``zerocopy``: bytes that were mapped instead of copied.
    watch_cpu_ns : int
        CPU time of the thread that took the samples and meters.
    watch_late_ns : int
        The most that it acted after a time it was due at.
    t_go_ns, t_first_byte_ns, t_last_byte_ns : int
        The common start, the first byte sent or read, the last one; in a timed run the end of
        the last stream. Nothing here depends on when samples are taken.
    window_t0_ns, window_t1_ns, window_bytes : int
        The measured window and the bytes in it.
    total_bytes, interval_sum_bytes : int
        All bytes, and the sum of all differences between samples.
    sample_t_ns : numpy.ndarray
        Shape (samples,), uint64: when samples were taken.
    sample_bytes : numpy.ndarray
        Shape (streams, samples), uint64: bytes of each stream so far. A view of C memory.
    trace : dict of str to numpy.ndarray
        ``rtt_us``, ``cwnd_segments``, ``retransmits`` of the same shape; empty without trace.
    per_stream : tuple of dict
        Counts and TCP_INFO of each stream.
    rejected : dict of str to int
        Connections that a sink refused, by reason.
    """

    role: str
    status: str
    code: str
    message: str
    streams: int
    accepted: int
    t_go_ns: int
    t_first_byte_ns: int
    t_last_byte_ns: int
    window_t0_ns: int
    window_t1_ns: int
    window_bytes: int
    total_bytes: int
    interval_sum_bytes: int
    engine: str
    method: str
    threads: int
    policy: dict[str, int | bool | None]
    completed_bytes: int
    copied_bytes: int
    mapped_bytes: int
    watch_cpu_ns: int
    watch_late_ns: int
    rejected: dict[str, int]
    per_stream: tuple[dict[str, Any], ...]
    sample_t_ns: np.ndarray = field(repr=False)
    sample_bytes: np.ndarray = field(repr=False)
    trace: dict[str, np.ndarray] = field(repr=False)

    @property
    def goodput_MBps(self) -> float:
        """Bytes of the window over its own length, in 10^6 B/s; NaN for an empty window."""
        span_ns = self.window_t1_ns - self.window_t0_ns
        return self.window_bytes / span_ns * 1e3 if span_ns else float("nan")
