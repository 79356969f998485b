"""Report of one end of a run on this machine, from the C library's structs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from netlab._core import ffi, lib


@dataclass(frozen=True)
class RunReport:
    """Report of a sink or gen at the end of its run."""

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
    waited_ns: int
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


STATUSES = ("ok", "stopped", "timeout", "error")


def text_of(chars: Any) -> str:
    return ffi.string(chars).decode("ascii", "replace")


class _Owned(np.ndarray):
    """An array over C memory that holds a reference to its owner."""

    owner: Any = None

    def __array_finalize__(self, source: Any) -> None:
        self.owner = getattr(source, "owner", None)


def _view(
    pointer: Any, dtype: type, rows: int, capacity: int, count: int, owner: Any
) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    flat: np.ndarray = np.frombuffer(ffi.buffer(pointer, rows * capacity * size), dtype=dtype)
    array = flat.reshape(capacity, rows)[:count].T.view(_Owned)
    array.owner = owner
    array.flags.writeable = False
    return array


def _policy(policy: Any) -> dict[str, int | bool | None]:
    """The policy of a report; an absent limit is None."""
    fields: dict[str, int | bool | None] = {
        name: None if getattr(policy, name) == 2**64 - 1 else int(getattr(policy, name))
        for name in ("batch_B", "yield_B")
    }
    switches = ("read_delay", "sched_batch", "spread")
    return fields | {name: bool(getattr(policy, name)) for name in switches}


def fields_of(value: Any) -> dict[str, int]:
    return {name: int(getattr(value, name)) for name, _ in ffi.typeof(value).fields}


def _stream(row: Any) -> dict[str, Any]:
    return {
        **{
            name: int(getattr(row, name))
            for name in ("stream", "errnum", "bytes", "window_bytes", "calls", "t_first_ns",
                         "t_last_ns", "t_end_ns", "sndbuf_start_B", "rcvbuf_start_B", "sndbuf_B",
                         "rcvbuf_B", "cwnd_start_segments", "cwnd_t0_segments",
                         "cwnd_max_segments", "sampled_us", "idle_us", "closed_us",
                         "pacing_Bps", "dscp", "mss_B", "nodelay",
                         "busy_poll_us", "cpu", "incoming_cpu", "moves")
        },
        "congestion": text_of(row.congestion),
        "tcp": fields_of(row.tcp) if row.has_tcp else None,
        "tcp_t1": fields_of(row.tcp_t1) if row.has_tcp_t1 else None,
    }  # fmt: skip


def report_of(role: str, r: Any, owner: Any) -> RunReport:
    rows, capacity, count = r.streams, r.sample_capacity, r.sample_count
    trace = {
        name: _view(pointer, np.uint32, rows, capacity, count, owner)
        for name, pointer in (
            ("rtt_us", r.trace_rtt_us),
            ("cwnd_segments", r.trace_cwnd_segments),
            ("retransmits", r.trace_retransmits),
        )
        if pointer != ffi.NULL
    }
    rejected = fields_of(r.rejected)
    rejected["short"] = rejected.pop("too_short")
    plain = ("streams", "accepted", "t_go_ns", "t_first_byte_ns", "t_last_byte_ns",
             "window_t0_ns", "window_t1_ns", "window_bytes", "total_bytes",
             "interval_sum_bytes", "threads", "completed_bytes", "copied_bytes",
             "mapped_bytes", "watch_cpu_ns", "watch_late_ns", "waited_ns")  # fmt: skip
    failed = r.status != lib.NL_STATUS_OK
    return RunReport(
        role=role,
        status=STATUSES[r.status],
        code=text_of(lib.nl_code_name(r.err.code)) if r.err.code else "",
        message=text_of(r.err.message) if failed else "",
        engine=text_of(r.engine),
        method=text_of(r.method),
        **{name: int(getattr(r, name)) for name in plain},
        policy=_policy(r.policy),
        rejected=rejected,
        per_stream=tuple(_stream(r.per_stream[i]) for i in range(rows)),
        sample_t_ns=_view(r.sample_t_ns, np.uint64, 1, capacity, count, owner)[0],
        sample_bytes=_view(r.sample_bytes, np.uint64, rows, capacity, count, owner),
        trace=trace,
    )
