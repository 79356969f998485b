"""Binding of the C library: its version, its files, and options of a run.

One function per C call. A C call that does not return ``NL_OK`` raises
:class:`netlab.errors.CoreError` with the C message and code. The GIL is released while C runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import netlab._core as _core
from netlab._core import ffi, lib
from netlab.core.run_report import text_of
from netlab.errors import CoreError


def check(code: int, err: Any) -> None:
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
    """Lack of the build for BPF congestion controls; None if ``gensink`` has them."""
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


ROLES = {"sink": lib.NL_SINK, "gen": lib.NL_GEN}


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
            roles=frozenset(role for role, bit in ROLES.items() if row.roles & bit),
            minimum=row.min,
            maximum=row.max,
        )
        for row in rows
    }


def run_opts(role: str, settings: Mapping[str, object]) -> Any:
    opts, err = ffi.new("struct nl_run_opts *"), ffi.new("struct nl_err *")
    lib.nl_run_opts_init(opts, ROLES[role])
    if settings.get("bytes") and "window_ms" not in settings:
        settings = {**settings, "window_ms": 0}
    for name, value in settings.items():
        text = str(int(value)) if isinstance(value, bool) else str(value)
        if "\0" in text or "\0" in name or not (name + text).isascii():
            raise CoreError(f"{name}: not printable ASCII", reason="bad_request", code="E-CORE-002")
        check(lib.nl_run_opts_set(opts, name.encode(), text.encode(), err), err)
    check(lib.nl_run_opts_check(opts, err), err)
    return opts


def check_options(role: str, **settings: object) -> None:
    """Check options of a sink or gen as the C library does before a run."""
    run_opts(role, settings)
