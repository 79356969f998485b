"""The C library from Python: the only package that uses ``netlab._core``."""

from __future__ import annotations

from netlab.core.library import (
    RunOption,
    bpf_missing,
    check_options,
    gensink_path,
    options,
    source_digest,
    source_dir,
    version,
)
from netlab.core.memory_copy import CopyRate, memory_copy_MBps
from netlab.core.run_report import STATUSES, RunReport, fields_of, report_of, text_of
from netlab.core.transfers import CoreRun, transfer

__all__ = [
    "STATUSES",
    "CopyRate",
    "CoreRun",
    "RunOption",
    "RunReport",
    "bpf_missing",
    "check_options",
    "fields_of",
    "gensink_path",
    "memory_copy_MBps",
    "options",
    "report_of",
    "source_digest",
    "source_dir",
    "text_of",
    "transfer",
    "version",
]
