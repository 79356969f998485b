"""Columns of each table: names, types, units and meanings."""

from __future__ import annotations

from dataclasses import dataclass

SCHEMA_VERSION = 4

READABLE_VERSIONS = (2, 3, SCHEMA_VERSION)
"""An older file lacks only nullable columns, and has other names for :data:`RENAMED`."""

RENAMED = {"repeat": "round"}
"""Columns of older files by their names today."""

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
"""Flags of a run. By default a run with a flag is left out of cells."""


@dataclass(frozen=True)
class Column:
    """One column of a table: pandas dtype, unit, meaning, and whether values may be missing."""

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
    ("campaign", "string", "", "campaign that measured it; missing if imported", "null"),
    ("run_id", "string", "", "block, group, streams and round, readable"),
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
    ("round", "int64", "", "round of the schedule, from 1"),
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
    (
        "pacing_MBps",
        "float64",
        "MB/s",
        "payload that the senders were paced to, all streams together, as read back",
        "null",
    ),
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
    (
        "bottleneck",
        "string",
        "",
        "bus, link, pacing, window, send buffer, CPU, loss, or unknown",
        "null",
    ),
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

TABLES = {
    "runs": RUN_COLUMNS,
    "intervals": INTERVAL_COLUMNS,
    "traces": TRACE_COLUMNS,
    "paths": PATH_COLUMNS,
}
"""The tables of a store; a block has a file in each, of the last two only where it has rows."""
