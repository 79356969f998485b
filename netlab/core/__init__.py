"""The C library from Python: the only package that uses ``netlab._core``."""

from netlab.core.binding import (
    CopyRate,
    Meter,
    Option,
    Run,
    check_options,
    gensink_path,
    memory_copy_MBps,
    meter,
    now_ns,
    options,
    source_digest,
    source_dir,
    transfer,
    version,
)
from netlab.core.conversion import STATUSES
from netlab.core.report import Report

__all__ = [
    "STATUSES",
    "CopyRate",
    "Meter",
    "Option",
    "Report",
    "Run",
    "check_options",
    "gensink_path",
    "memory_copy_MBps",
    "meter",
    "now_ns",
    "options",
    "source_digest",
    "source_dir",
    "transfer",
    "version",
]
