"""The results store: one row a run, interval samples, traces, as Parquet.

A block of a study is a file in each of :data:`TABLES`: ``runs/<block>.parquet``,
``intervals/<block>.parquet`` and so on, under the study's results directory. Files are written to a
temporary name, fsynced and renamed, so a reader sees the old or the new one, never a half.
"""

from __future__ import annotations

import contextlib
import glob
import json
import math
import numbers
import os
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import pandera.pandas as pa
import pyarrow
import pyarrow.parquet

from netlab.errors import NetlabError, shown

SCHEMA_VERSION = 2

FLAGS = (
    "stalled",
    "implausible",
    "ledger_mismatch",
    "interference",
    "tuning_drift",
    "counter_reset",
    "clock_step",
    "lost_host",
    "failed",
)
"""What a run can be flagged with; design of record: any flag keeps it out of cells by default."""


@dataclass(frozen=True)
class Column:
    """One column of the runs table: pandas dtype, unit, meaning, and whether it may be missing."""

    name: str
    dtype: str
    unit: str
    meaning: str
    nullable: bool = False


def _columns(*rows: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(r[0], r[1], r[2], r[3], len(r) > 4 and r[4] == "null") for r in rows)


RUN_COLUMNS = _columns(
    ("schema_version", "int64", "", "version of this schema"),
    ("study", "string", "", "name of the study"),
    ("study_digest", "string", "", "SHA-256 of the study's content"),
    ("provenance_key", "string", "", "what a run must match not to be repeated"),
    ("run_id", "string", "", "block, group, streams and repeat, readable"),
    ("block_id", "string", "", "path, tuning and MTU"),
    ("order", "int64", "", "position in the study's randomised order, from 0"),
    ("group", "string", "", "group of the study (one table of the report)"),
    ("table", "Int64", "", "table number in the source report", "null"),
    ("path", "string", "", "path of the study"),
    ("sender", "string", "", "sending host (of the forward direction)"),
    ("receiver", "string", "", "receiving host (of the forward direction)"),
    ("direction", "string", "", "-> or <->"),
    ("tuning", "string", "", "tuning as a factor level"),
    ("mtu_B", "int64", "B", "MTU"),
    ("streams", "int64", "", "TCP streams in each direction"),
    ("repeat", "int64", "", "repeat, from 1"),
    ("seed", "int64", "", "seed of the study"),
    ("record_length_B", "int64", "B", "bytes of one send() or recv()"),
    ("buffer_B", "int64", "B", "socket buffer asked for; 0 leaves the kernel's"),
    (
        "buffer_clamp_sender_B",
        "Int64",
        "B",
        "limit a tuning sets by wmem_max, applied to the socket",
        "null",
    ),
    (
        "buffer_clamp_receiver_B",
        "Int64",
        "B",
        "limit a tuning sets by rmem_max, applied to the socket",
        "null",
    ),
    (
        "receive_buffer_B",
        "Int64",
        "B",
        "socket buffer asked for at the receiver, where it is another",
        "null",
    ),
    ("congestion", "string", "", "congestion control, as the study names it"),
    (
        "congestion_source",
        "string",
        "",
        "what the kernel was given: its own, a module or BPF, with version",
        "null",
    ),
    ("generator", "string", "", "what sent and received: netlab or another tool"),
    ("generator_version", "string", "", "of that other tool, both ends", "null"),
    ("records", "Int64", "", "records sent on each stream, where it is not a time", "null"),
    ("engine", "string", "", "what sent and received, e.g. blocking:copy/epoll:discard"),
    ("started_at", "datetime64[ns, UTC]", "", "when the run began"),
    ("wall_s", "float64", "s", "wall time of the run, from request to result"),
    ("overhead_s", "float64", "s", "wall time less warm-up and window"),
    ("warmup_s", "float64", "s", "left out before the window"),
    (
        "window_s",
        "float64",
        "s",
        "measured window at the sink, or first byte sent to last byte read; mean of directions",
        "null",
    ),
    ("window_error_s", "float64", "s", "of an amount timed on two clocks, either way", "null"),
    ("goodput_MBps", "float64", "MB/s", "payload received per second, sum of directions", "null"),
    ("goodput_forward_MBps", "float64", "MB/s", "sender to receiver", "null"),
    ("goodput_reverse_MBps", "float64", "MB/s", "receiver to sender; missing for ->", "null"),
    ("sent_B", "Int64", "B", "bytes given to send(), whole run, all directions", "null"),
    ("received_B", "Int64", "B", "bytes the sinks read, whole run", "null"),
    ("interval_sum_B", "Int64", "B", "sum of the interval samples, whole run", "null"),
    ("acked_B", "Int64", "B", "TCP_INFO bytes_acked, whole run", "null"),
    ("tcp_received_B", "Int64", "B", "TCP_INFO bytes_received, whole run", "null"),
    ("window_B", "Int64", "B", "bytes the sinks read within the window", "null"),
    ("interface_tx_B", "Int64", "B", "sum of both ends' interface tx bytes, whole run", "null"),
    ("interface_rx_B", "Int64", "B", "sum of both ends' interface rx bytes, whole run", "null"),
    ("counter_wraps", "Int64", "", "32-bit interface counters that wrapped, put right", "null"),
    ("ledger_error_B", "Int64", "B", "largest disagreement of counts that must be equal", "null"),
    ("header_share", "float64", "1", "interface rx bytes over payload less 1, whole run", "null"),
    ("rtt_us", "float64", "us", "smoothed RTT at the sender, mean of streams", "null"),
    ("min_rtt_us", "float64", "us", "least RTT at the sender, least of streams", "null"),
    ("cwnd_segments", "float64", "", "congestion window at the end, mean of streams", "null"),
    ("mss_B", "float64", "B", "sender's maximum segment size, mean of streams", "null"),
    ("retransmits", "Int64", "", "segments sent again, all streams", "null"),
    (
        "busy_share",
        "float64",
        "1",
        "share of time with data in flight or waiting, mean of streams",
        "null",
    ),
    (
        "rwnd_limited_share",
        "float64",
        "1",
        "of the busy time, limited by the receiver's window",
        "null",
    ),
    (
        "sndbuf_limited_share",
        "float64",
        "1",
        "of the busy time, limited by the send buffer",
        "null",
    ),
    ("sndbuf_B", "float64", "B", "effective SO_SNDBUF at the sender", "null"),
    ("rcvbuf_B", "float64", "B", "effective SO_RCVBUF at the receiver", "null"),
    ("sender_cpu_percent", "float64", "%", "busy share of the sending machine's cores", "null"),
    ("receiver_cpu_percent", "float64", "%", "busy share of the receiving machine's cores", "null"),
    ("sender_softirq_percent", "float64", "%", "of all cores", "null"),
    ("receiver_softirq_percent", "float64", "%", "of all cores", "null"),
    (
        "busiest_core_percent",
        "float64",
        "%",
        "busy share of the busiest core of either machine",
        "null",
    ),
    ("steal_percent", "float64", "%", "largest steal of either machine, of all cores", "null"),
    (
        "foreign_cpu_percent",
        "float64",
        "%",
        "user and system time not the run's own, larger of machines",
        "null",
    ),
    ("agent_cpu_s", "float64", "s", "CPU time of both agents or tools, whole run", "null"),
    ("interface_drops", "Int64", "", "rx and tx drops of both interfaces, whole run", "null"),
    ("softnet_drops", "Int64", "", "packets dropped by the softnet backlog, both machines", "null"),
    ("interrupts_per_s", "float64", "1/s", "of both machines, in the window", "null"),
    ("context_switches_per_s", "float64", "1/s", "of both machines, in the window", "null"),
    (
        "bus_MBps",
        "float64",
        "MB/s",
        "of the slower host's bus; twice it where <-> has it twice",
        "null",
    ),
    ("bus_shared", "boolean", "", "whether both directions share the bus", "null"),
    ("link_MBps", "float64", "MB/s", "link rate, payload or not, where known", "null"),
    ("ceiling_MBps", "float64", "MB/s", "most payload this path can carry, see bottleneck", "null"),
    ("ceiling_kind", "string", "", "bus, link or memory", "null"),
    ("percent_of_bus", "float64", "%", "goodput over bus_MBps", "null"),
    ("percent_of_ceiling", "float64", "%", "goodput over ceiling_MBps", "null"),
    ("ping_min_ms", "float64", "ms", "of five pings before the block", "null"),
    ("ping_avg_ms", "float64", "ms", "of five pings before the block", "null"),
    ("ping_max_ms", "float64", "ms", "of five pings before the block", "null"),
    ("ping_mdev_ms", "float64", "ms", "of five pings before the block", "null"),
    ("ping_loss_percent", "float64", "%", "of five pings before the block", "null"),
    ("path_rtt_us", "float64", "us", "round trip asked of the path's emulator", "null"),
    ("path_packets", "Int64", "", "packets that reached the emulator, both ways", "null"),
    ("path_B", "Int64", "B", "IP bytes that reached the emulator, both ways", "null"),
    ("path_drops", "Int64", "", "packets the emulator dropped, for whatever reason", "null"),
    ("path_queue_drops", "Int64", "", "of them, those that met a full queue", "null"),
    ("path_forced_drops", "Int64", "", "of them, those it was told to drop", "null"),
    ("forced_loss_s", "float64", "s", "when the last was, from the common start", "null"),
    ("path_queue_max_B", "Int64", "B", "deepest queue of either direction", "null"),
    ("path_queue_max_packets", "Int64", "", "longest queue of either direction", "null"),
    (
        "emulator_late_us",
        "float64",
        "us",
        "all but one in 100 of the emulator's writes were at most this late",
        "null",
    ),
    ("emulator_cpu_percent", "float64", "%", "of one core, whole run", "null"),
    ("emulator_waited_percent", "float64", "%", "of the run, for a processor", "null"),
    ("bottleneck", "string", "", "bus, link, window, send buffer, CPU, loss, or unknown", "null"),
    ("flags", "string", "", "flags of the run, joined by commas; empty when valid"),
    ("message", "string", "", "why a run failed or was flagged; empty when valid"),
    ("unsupported", "string", "", "JSON list of {host, knob, reason}"),
    ("knobs", "string", "", "JSON: host -> knob -> value read back"),
    (
        "provenance",
        "string",
        "",
        "JSON: agent digest, version, kernel, CPU, NIC, driver of each host",
    ),
)

INTERVAL_COLUMNS = _columns(
    ("run_id", "string", "", "run"),
    ("direction", "string", "", "forward or reverse"),
    ("stream", "int64", "", "stream, from 0"),
    ("t_s", "float64", "s", "end of the interval, from the common start"),
    ("interval_s", "float64", "s", "length of the interval"),
    ("bytes", "int64", "B", "read by the sink in the interval"),
    ("in_window", "bool", "", "wholly inside the measured window"),
)

TRACE_COLUMNS = _columns(
    ("run_id", "string", "", "run"),
    ("direction", "string", "", "forward or reverse"),
    ("stream", "int64", "", "stream, from 0"),
    ("t_s", "float64", "s", "from when the sender was let go, on the sender's clock"),
    ("rtt_us", "int64", "us", "smoothed RTT at the sender"),
    ("cwnd_segments", "int64", "", "congestion window"),
    ("retransmits", "int64", "", "segments sent again so far"),
)

PATH_COLUMNS = _columns(
    ("run_id", "string", "", "run"),
    ("direction", "string", "", "forward or reverse"),
    ("t_s", "float64", "s", "when, from the common start"),
    ("queue_B", "int64", "B", "waiting for the emulated link"),
    ("queue_packets", "int64", "", "waiting for the emulated link"),
    ("drops", "int64", "", "packets dropped since the sample before, for whatever reason"),
)


def _schema(columns: tuple[Column, ...]) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(
        {c.name: pa.Column(c.dtype, nullable=c.nullable, coerce=True) for c in columns},
        strict=True,
        ordered=True,
    )


RUNS = _schema(RUN_COLUMNS)
INTERVALS = _schema(INTERVAL_COLUMNS)
TRACES = _schema(TRACE_COLUMNS)
PATHS = _schema(PATH_COLUMNS)
SCHEMAS = {
    RUN_COLUMNS: RUNS,
    INTERVAL_COLUMNS: INTERVALS,
    TRACE_COLUMNS: TRACES,
    PATH_COLUMNS: PATHS,
}

TABLES = {
    "runs": RUN_COLUMNS,
    "intervals": INTERVAL_COLUMNS,
    "traces": TRACE_COLUMNS,
    "paths": PATH_COLUMNS,
}
"""The tables of a store; a block has a file in each, of the last two only where it has rows."""


def frame_of(rows: list[dict], columns: tuple[Column, ...] = RUN_COLUMNS) -> pd.DataFrame:
    """Build a schema-checked frame from records; a nullable column may be left out of a record.

    Raises
    ------
    NetlabError
        A record lacks another column, has one too many, or holds a value of another type.
    """
    extra = {key for row in rows for key in row} - {c.name for c in columns}
    if extra:
        raise NetlabError(f"a record has columns the schema does not know: {sorted(extra)}")
    # as objects: pandas would infer float for an integer column with a gap, and lose bytes
    values = {c.name: pd.Series([row.get(c.name) for row in rows], dtype=object) for c in columns}
    return checked(pd.DataFrame(values), columns)


def checked(frame: pd.DataFrame, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Coerce and check a frame against a schema; raises NetlabError with the first failure.

    Only what loses nothing is coerced: an integer is no float with a fraction, no text, no bool.
    """
    for column in columns:
        if column.name in frame and not _lossless(frame[column.name].dropna(), column.dtype):
            raise NetlabError(
                f"results do not fit schema version {SCHEMA_VERSION}: column {column.name!r} "
                f"is {column.dtype} and holds {shown(frame[column.name].dropna().tolist())}"
            )
        if column.name in frame and not column.nullable and frame[column.name].isna().any():
            raise NetlabError(
                f"results do not fit schema version {SCHEMA_VERSION}: column {column.name!r} "
                "may not be missing"
            )
    try:
        return SCHEMAS[columns].validate(frame)
    except (pa.errors.SchemaError, pa.errors.SchemaErrors) as error:
        reason = " ".join(str(error).split())[:200]
        raise NetlabError(f"results do not fit schema version {SCHEMA_VERSION}: {reason}") from None


def _lossless(values: pd.Series, dtype: str) -> bool:
    """Whether values, none missing, become `dtype` without a change of meaning."""
    types = pd.api.types
    if values.empty:
        return True
    if dtype in ("bool", "boolean"):
        return types.is_bool_dtype(values.infer_objects())
    if dtype == "string":
        return isinstance(values.dtype, pd.StringDtype) or all(isinstance(v, str) for v in values)
    if dtype not in ("int64", "Int64", "float64"):
        return isinstance(values.infer_objects().dtype, pd.DatetimeTZDtype)
    if types.is_object_dtype(values):
        if not all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values):
            return False
    elif not types.is_numeric_dtype(values) or types.is_bool_dtype(values):
        return False
    if types.is_integer_dtype(values):
        return True
    return all(math.isfinite(v) and (dtype == "float64" or v == int(v)) for v in values)


def write_atomically(frame: pd.DataFrame, path: Path, columns: tuple[Column, ...]) -> None:
    """Write a checked frame as Parquet with units in its metadata; replaces `path` whole or not."""
    table = pyarrow.Table.from_pandas(checked(frame, columns), preserve_index=False)
    units = {c.name: {"unit": c.unit, "meaning": c.meaning} for c in columns}
    table = table.replace_schema_metadata(
        {
            **(table.schema.metadata or {}),
            b"netlab.schema_version": str(SCHEMA_VERSION).encode(),
            b"netlab.columns": json.dumps(units).encode(),
        }
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        with open(partial, "wb") as sink:
            pyarrow.parquet.write_table(table, sink, write_page_checksum=True)
            sink.flush()
            os.fsync(sink.fileno())
        os.replace(partial, path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise NetlabError(f"cannot write {path}: {error.strerror or error}") from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink()


def _remove_abandoned(path: Path) -> None:
    """Remove what writers of `path` that were killed left half written."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        writer = partial.suffixes[-2].removeprefix(".")
        if writer.isdigit() and not Path("/proc", writer).exists():
            partial.unlink(missing_ok=True)


def read(path: Path, columns: tuple[Column, ...]) -> pd.DataFrame:
    """Read and check one Parquet file, checksums included.

    Raises
    ------
    NetlabError
        The file is damaged, of another schema version, or does not fit.
    """
    try:
        table = pyarrow.parquet.read_table(path, page_checksum_verification=True)
        version = (table.schema.metadata or {}).get(b"netlab.schema_version", b"?").decode()
    except (OSError, ValueError, MemoryError, pyarrow.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise NetlabError(f"{path} cannot be read as results: {reason}") from None
    if version != str(SCHEMA_VERSION):
        raise NetlabError(
            f"{path} has schema version {shown(version)}, this netlab reads {SCHEMA_VERSION!r}"
        )
    try:
        frame = table.to_pandas(ignore_metadata=True, types_mapper=_EXACT.get)
        return checked(frame, columns)
    except (NetlabError, ValueError, pyarrow.ArrowException) as error:
        raise NetlabError(f"{path} cannot be read as results: {error}") from None


_EXACT = {pyarrow.int64(): pd.Int64Dtype()}
"""Integers with gaps stay integers."""


@dataclass(frozen=True)
class Store:
    """The results of one study, in one directory."""

    directory: Path

    def _file(self, kind: str, block_id: str) -> Path:
        return self.directory / kind / f"{block_id}.parquet"

    def write_block(
        self,
        block_id: str,
        runs: pd.DataFrame,
        intervals: pd.DataFrame,
        **samples: pd.DataFrame,
    ) -> None:
        """Write a block's samples and then its runs, so that a run never lacks its samples.

        Parameters
        ----------
        block_id : str
        runs, intervals : DataFrame
        **samples : DataFrame
            By its name in :data:`TABLES`: a table that only some blocks have, left out when empty.
        """
        for table, frame in samples.items():
            path = self._file(table, block_id)
            if len(frame) or path.exists():
                write_atomically(frame, path, TABLES[table])
        write_atomically(intervals, self._file("intervals", block_id), INTERVAL_COLUMNS)
        write_atomically(runs, self._file("runs", block_id), RUN_COLUMNS)

    def block(self, table: str, block_id: str) -> pd.DataFrame:
        """Rows of one block in one of :data:`TABLES`; empty when it has none."""
        path, columns = self._file(table, block_id), TABLES[table]
        return read(path, columns) if path.exists() else frame_of([], columns)

    def block_runs(self, block_id: str) -> pd.DataFrame:
        """Runs of one block; empty when it has none."""
        return self.block("runs", block_id)

    def block_intervals(self, block_id: str) -> pd.DataFrame:
        """Interval samples of one block; empty when it has none."""
        return self.block("intervals", block_id)

    def rows(self, table: str) -> pd.DataFrame:
        """All rows of the study in one of :data:`TABLES`."""
        columns = TABLES[table]
        frames = [read(path, columns) for path in sorted(self.directory.glob(f"{table}/*.parquet"))]
        return pd.concat(frames, ignore_index=True) if frames else frame_of([], columns)

    def runs(self) -> pd.DataFrame:
        """All runs of the study, in the order they were planned."""
        return self.rows("runs").sort_values("order", ignore_index=True)

    def intervals(self) -> pd.DataFrame:
        """All interval samples of the study."""
        return self.rows("intervals")
