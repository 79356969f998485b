"""The output of a tool's two ends in the format of the agents' answers.

The same code then records either. A figure that the tool does not report is None. Times are the
tool's own, from the start of its receiver's count.
"""

from __future__ import annotations

import re
from typing import NamedTuple, cast

import numpy as np

from netlab.errors import BadInput, RunError
from netlab.files.run_results import Meters, ReadEnd, SentEnd
from netlab.generators.tools import Tool, TransferRequest
from netlab.measure.exchange import Direction, Request
from netlab.outputs.records import Record, Sample

EDGE_SHARE = 0.1
"""Share of an interval by which a boundary of the window may be early."""

ESTIMATE_SHARE = 0.02
"""Largest error of a total that a tool does not count, but that follows from its rate."""


class Answers(NamedTuple):
    """A tool's report of one direction of a run."""

    sender: Record
    receiver: Record


def parse_answers(tool: Tool, client: str, server: str, asked: TransferRequest) -> Answers:
    sent = _record(tool, client, "client", asked) if tool.client_counts else None
    if tool.reads == "server":
        got = _record(tool, server, "server", asked)
    else:
        got = sent or _record(tool, client, "client", asked)
    if got.forward.measured_at != "receiver":
        message = f"{tool.name} did not print its receiver's count"
        raise RunError(message, reason="peer", code="E-TOOL-001")
    sent = sent or got
    if asked.congestion and sent.congestion not in (None, asked.congestion):
        message = f"{tool.name} ran {sent.congestion} in place of {asked.congestion}"
        raise RunError(message, reason="peer", code="E-TOOL-002")
    return Answers(sent, got)


def is_complete(tool: Tool, server: str, asked: TransferRequest) -> bool:
    if tool.reads == "client":  # its server prints no result to wait for
        return True
    try:
        _record(tool, server, "server", asked)
    except RunError:
        return False
    return True


def _record(tool: Tool, text: str, end: str, asked: TransferRequest) -> Record:
    what = f"{tool.name}'s {end}"
    try:
        records = tool.records(text, asked)
    except BadInput as error:
        message = f"{what} printed damaged output: {error}"
        raise RunError(message, reason="peer", code="E-TOOL-003") from None
    if len(records) != 1:
        message = f"{what} printed {len(records)} results for one run"
        raise RunError(message, reason="peer", code="E-TOOL-004")
    (record,) = records
    if record.streams not in (None, asked.streams):
        message = f"{what} ran {record.streams} streams in place of {asked.streams}"
        raise RunError(message, reason="peer", code="E-TOOL-005")
    return record


def counts_of(samples: tuple[Sample, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative counts of a receiver's streams at common times."""
    streams = sorted({sample.stream for sample in samples})
    by_stream = [
        sorted((s for s in samples if s.stream == n), key=lambda s: s.t_s) for n in streams
    ]
    length = max(map(len, by_stream), default=0)
    counts = np.zeros((len(streams), length + 1), dtype=np.int64)
    ends = np.full((len(streams), length), np.nan)
    for row, part in enumerate(by_stream):
        ends[row, : len(part)] = [sample.t_s for sample in part]
        counts[row, 1 : len(part) + 1] = [sample.bytes for sample in part]
    counts = counts.cumsum(axis=1)
    t_s = np.concatenate([[0.0], np.nanmean(ends, axis=0)]) if length else np.zeros(1)
    return np.maximum.accumulate(t_s), counts


def window_of(t_s: np.ndarray, warmup_s: float, seconds: float, step_s: float) -> tuple[int, int]:
    """Indices of the first sample after the warm-up, and of the first after the window."""
    edge_s = EDGE_SHARE * step_s
    opens = int(np.searchsorted(t_s, warmup_s - edge_s))
    if opens >= len(t_s) - 1:
        message = "its receiver reported nothing after the warm-up"
        raise RunError(message, reason="peer", code="E-TOOL-006")
    closes = int(np.searchsorted(t_s, t_s[opens] + seconds - edge_s))
    return opens, min(max(closes, opens + 1), len(t_s) - 1)


def flow_of(
    answers: Answers,
    request: Request,
    step_s: float,
    gen_meter: Meters,
    sink_meter: Meters,
) -> Direction:
    """One direction of a run to record; without intervals the whole transfer is the window."""
    sent, got = answers.sender, answers.receiver
    read_B, window_B = got.forward.received_B, got.forward.window_B or 0
    if not got.forward.samples:
        t_s, counts = np.array([0.0, got.forward.window_s]), np.array([[0, window_B]])
        opens, closes = 0, 1
    else:
        t_s, counts = counts_of(got.forward.samples)
        opens, closes = window_of(t_s, request.warmup_ms / 1e3, request.window_ms / 1e3, step_s)
    t_ns = np.round(t_s * 1e9).astype(np.int64)
    whole = counts.sum(axis=0)
    mss_B = sent.mss_B or got.mss_B
    counted = sent.retransmits is not None and mss_B is not None
    again_B = (sent.retransmits or 0) * (mss_B or 0) if counted else None
    tcp = {
        **{name: getattr(sent, name) for name in ("rtt_us", "min_rtt_us", "cwnd_segments")},
        "mss_B": mss_B,
        "retransmits": sent.retransmits,
        "bytes_retransmitted": again_B,
    }
    common = {"status": "ok", "code": None, "message": None, "streams": request.streams}
    common["t_go_ns"] = 0
    stream = {"stream": 0, "t_end_ns": 0, "sndbuf_B": sent.sndbuf_B, "tcp": tcp}
    stream["pacing_Bps"] = round((request.socket.pacing_MBps or 0) * 1e6) * request.streams
    if sent.forward.datagrams:
        stream["udp"] = {"sent": sent.forward.datagrams.sent}
    gen = {
        **common,
        "total_bytes": sent.forward.sent_B,
        "interval_sum_bytes": None,
        "per_stream": [{**stream, "congestion": sent.congestion}],
        "losses_unknown": not counted,
        "own_cpu_whole": True,
        "trace": None,
        "meter": gen_meter,
    }
    sink = {
        **common,
        "total_bytes": window_B if read_B is None else read_B,
        "unsure_bytes": round(ESTIMATE_SHARE * window_B) if read_B is None else 0,
        "interval_sum_bytes": int(whole[-1]),
        "per_stream": [{"stream": 0, "rcvbuf_B": got.rcvbuf_B}],
        "window": {
            "t0_ns": int(t_ns[opens]),
            "t1_ns": int(t_ns[closes]),
            "bytes": int(whole[closes] - whole[opens]),
        },
        "samples": {"t_ns": t_ns.tolist(), "bytes": counts.tolist()},
        "meter": sink_meter,
    }
    return Direction(cast(SentEnd, gen), cast(ReadEnd, sink))


def audit_counts(flow: Direction, answers: Answers, tool: Tool) -> tuple[int | None, list[str]]:
    """Compare the counts that a tool reports of one direction."""
    sent_B, read_B = flow.gen["total_bytes"], flow.sink["total_bytes"]
    summed_B = flow.sink["interval_sum_bytes"]
    slack_B = ROUNDED_B if answers.receiver.rounded else 0
    problems = []
    if summed_B > read_B + slack_B * len(flow.sink["samples"]["t_ns"]):
        problems.append(f"the receiver read {read_B} B, but its intervals sum to {summed_B} B")
    if sent_B is None:
        return None, problems
    more_B = read_B - sent_B
    last_B = _last_writes_B(tool, answers.sender)
    if more_B > slack_B + last_B or (tool.reads_all and more_B < -slack_B):
        problems.append(f"the sender gave away {sent_B} B, but the receiver read {read_B} B")
    return (abs(more_B) if tool.reads_all or more_B > 0 else None), problems


def _last_writes_B(tool: Tool, sender: Record) -> int:
    """Most bytes that a sender does not count: of a thread stopped in a write, at most a record."""
    version = [int(number) for number in re.findall(r"\d+", sender.version or "")]
    if tool.stops_writes_since is None or version < [*tool.stops_writes_since]:
        return 0
    return (sender.streams or 0) * (sender.record_length_B or 0)


ROUNDED_B = 128
"""nuttcp prints amounts with four decimals of a MiB: rounding of two differs by at most this."""
