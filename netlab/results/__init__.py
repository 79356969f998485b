"""The results store: one row a run, interval samples, traces, as Parquet.

A block of a study is a file in each of :data:`TABLES`: ``runs/<block>.parquet``,
``intervals/<block>.parquet`` and so on, under the study's results directory. Files are written to a
temporary name, fsynced and renamed, so a reader sees the old or the new one, never a half.
"""

from netlab.results.columns import (
    FLAGS,
    INTERVAL_COLUMNS,
    PATH_COLUMNS,
    RUN_COLUMNS,
    SCHEMA_VERSION,
    TABLES,
    TRACE_COLUMNS,
    Column,
)
from netlab.results.frames import checked, frame_of, read, write_atomically
from netlab.results.store import Damaged, Store

__all__ = [
    "FLAGS",
    "INTERVAL_COLUMNS",
    "PATH_COLUMNS",
    "RUN_COLUMNS",
    "SCHEMA_VERSION",
    "TABLES",
    "TRACE_COLUMNS",
    "Column",
    "Damaged",
    "Store",
    "checked",
    "frame_of",
    "read",
    "write_atomically",
]
