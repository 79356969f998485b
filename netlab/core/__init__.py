"""The C library from Python: the only package that uses ``netlab._core``."""

from netlab.core.binding import (
    CopyRate,
    CoreRun,
    RunOption,
    bpf_missing,
    check_options,
    gensink_path,
    memory_copy_MBps,
    options,
    source_digest,
    source_dir,
    transfer,
    version,
)
from netlab.core.conversion import STATUSES
from netlab.core.report import RunReport

__all__ = [
    "STATUSES",
    "CopyRate",
    "CoreRun",
    "RunOption",
    "RunReport",
    "bpf_missing",
    "check_options",
    "gensink_path",
    "memory_copy_MBps",
    "options",
    "source_digest",
    "source_dir",
    "transfer",
    "version",
]
