"""A run of the C library in this process."""

from __future__ import annotations

import secrets
import threading

from netlab._core import ffi, lib
from netlab.core.library import ROLES, check, options, run_opts
from netlab.core.run_report import RunReport, report_of
from netlab.errors import CoreError


class CoreRun:
    """One end of a run on this machine; leaving its block stops, awaits and frees the run."""

    def __init__(self, role: str, **settings: object):
        opts = run_opts(role, settings)
        out, err = ffi.new("struct nl_run **"), ffi.new("struct nl_err *")
        check(lib.nl_run_open(opts, out, err), err)
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
            check(lib.nl_run_execute(self._run, err), err)
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
        for role in ROLES
    }
    if settings.get("bytes"):
        ours["sink"]["window_ms"] = 0
        ours["gen"].pop("window_ms", None)
    with CoreRun("sink", bind=address, **ours["sink"]) as sink:
        sink.start()
        with CoreRun("gen", **{**ours["gen"], "to": address, "port": sink.port}) as gen:
            gen_report = gen.result()
            return sink.result(), gen_report
