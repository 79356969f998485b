"""The C library from Python: the only package that uses ``netlab._core``."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import netlab._core as _core
from netlab._core import ffi, lib
from netlab.errors import CoreError

# Report of one end of a run on this machine.


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


# Conversion of the C library's structs to Python: texts, fields, reports of runs.

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


# Binding of the C library: its functions and structs from Python.
#
# One function per C call. A C call that does not return ``NL_OK`` raises
# :class:`netlab.errors.CoreError` with the C message and code. The GIL is released while C runs.


def _check(code: int, err: Any) -> None:
    if code != lib.NL_OK:
        key = text_of(err.key)
        message = text_of(err.message)
        text = f"{key}: {message}" if key else message
        raise CoreError(text, reason=text_of(lib.nl_code_name(code)), code="E-CORE-001")


def version() -> str:
    return text_of(lib.nl_version())


def source_digest() -> str:
    """sha256 of the sources the C library was built from, in hex."""
    return text_of(lib.nl_source_digest())


def gensink_path() -> Path:
    return Path(_core.__file__).parent / "_bin" / "gensink"


def bpf_missing() -> str | None:
    """What the build lacked for BPF congestion controls; None if ``gensink`` has them."""
    text = lib.nl_bpf_missing()
    return text_of(text) if text != ffi.NULL else None


def source_dir() -> Path:
    """C sources of this library; the file ``BUILD`` there is the command that compiles them."""
    return Path(_core.__file__).parent / "_src"


@dataclass(frozen=True)
class RunOption:
    """One option of a run from the option table of the C library."""

    name: str
    help: str
    default: str | None
    roles: frozenset[str]
    minimum: int
    maximum: int


_ROLES = {"sink": lib.NL_SINK, "gen": lib.NL_GEN}


@cache
def options() -> Mapping[str, RunOption]:
    count = ffi.new("size_t *")
    table = lib.nl_options(count)
    rows = (table[i] for i in range(count[0]))
    return {
        (name := text_of(row.name)): RunOption(
            name=name,
            help=text_of(row.help),
            default=None if row.initial == ffi.NULL else text_of(row.initial),
            roles=frozenset(role for role, bit in _ROLES.items() if row.roles & bit),
            minimum=row.min,
            maximum=row.max,
        )
        for row in rows
    }


def _run_opts(role: str, settings: Mapping[str, object]) -> Any:
    opts, err = ffi.new("struct nl_run_opts *"), ffi.new("struct nl_err *")
    lib.nl_run_opts_init(opts, _ROLES[role])
    if settings.get("bytes") and "window_ms" not in settings:
        settings = {**settings, "window_ms": 0}
    for name, value in settings.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if "\0" in text or "\0" in name or not (name + text).isascii():
            raise CoreError(f"{name}: not printable ASCII", reason="bad_request", code="E-CORE-002")
        _check(lib.nl_run_opts_set(opts, name.encode(), text.encode(), err), err)
    _check(lib.nl_run_opts_check(opts, err), err)
    return opts


def check_options(role: str, **settings: object) -> None:
    """Check options of a sink or gen as the C library does before a run."""
    _run_opts(role, settings)


# -- runs ----------------------------------------------------------------------------------------


class CoreRun:
    """One end of a run on this machine; leaving its block stops, awaits and frees the run."""

    def __init__(self, role: str, **settings: object):
        opts = _run_opts(role, settings)
        out, err = ffi.new("struct nl_run **"), ffi.new("struct nl_err *")
        _check(lib.nl_run_open(opts, out, err), err)
        self.role = role
        self._run = ffi.gc(out[0], lib.nl_run_free)
        self._thread: threading.Thread | None = None
        self._failure: CoreError | None = None

    @property
    def port(self) -> int:
        return lib.nl_run_port(self._run)

    def start(self) -> None:
        if self._thread is not None:
            raise CoreError("a run starts once", reason="bad_request", code="E-CORE-003")
        self._thread = threading.Thread(target=self._execute, daemon=True)
        self._thread.start()

    def _execute(self) -> None:
        err = ffi.new("struct nl_err *")
        try:
            _check(lib.nl_run_execute(self._run, err), err)
        except CoreError as failure:
            self._failure = failure

    def stop(self) -> None:
        """End the run early; its report says ``stopped``."""
        lib.nl_run_stop(self._run)

    def progress(self) -> tuple[int, int]:
        """CLOCK_MONOTONIC in ns, and the bytes moved so far."""
        t_ns = ffi.new("uint64_t *")
        moved = lib.nl_run_progress(self._run, t_ns)
        return t_ns[0], moved

    def result(self) -> RunReport:
        if self._thread is None:
            self.start()
        assert self._thread is not None
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return report_of(self.role, lib.nl_run_report(self._run), self._run)

    def __enter__(self) -> CoreRun:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()
        if self._thread is not None:
            self._thread.join()


def transfer(address: str = "127.0.0.1", **settings: object) -> tuple[RunReport, RunReport]:
    """Run a sink and a gen against each other on this machine."""
    unknown = sorted(set(settings) - set(options()))
    if unknown:
        raise CoreError(f"{unknown[0]}: unknown option", reason="bad_request", code="E-CORE-004")
    shared = {"run": 1, "token": secrets.token_hex(16), **settings}
    ours = {
        role: {name: value for name, value in shared.items() if role in options()[name].roles}
        for role in _ROLES
    }
    if settings.get("bytes"):
        ours["sink"]["window_ms"] = 0
        ours["gen"].pop("window_ms", None)
    with CoreRun("sink", bind=address, **ours["sink"]) as sink:
        sink.start()
        with CoreRun("gen", **{**ours["gen"], "to": address, "port": sink.port}) as gen:
            gen_report = gen.result()
            return sink.result(), gen_report


# -- ceilings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CopyRate:
    """Copy rate of one thread per second of its CPU time, within the cache and far beyond it."""

    hot_MBps: float
    cold_MBps: float


def memory_copy_MBps(budget_ms: int = 200) -> CopyRate:
    """Measure how fast one thread copies memory on this machine."""
    out, err = ffi.new("struct nl_copy_report *"), ffi.new("struct nl_err *")
    if not 0 <= budget_ms < 2**64:
        raise CoreError("budget_ms: out of range", reason="bad_request", code="E-CORE-005")
    _check(lib.nl_copy_rate(budget_ms, out, err), err)
    return CopyRate(hot_MBps=out.hot_Bps / 1e6, cold_MBps=out.cold_Bps / 1e6)
