"""Parse the output of a tool's two ends into the format of the agents' answers.

The same code then records either. A figure that the tool does not report is None. Times are the
tool's own, from the start of its receiver's count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from netlab.errors import BadInput, RunError
from netlab.generators.tools import Tool, TransferRequest
from netlab.measure.exchange import Direction, Request
from netlab.results.imports.records import Record, Sample

EDGE_SHARE = 0.1
"""Share of an interval by which a boundary of the window may be early."""

ESTIMATE_SHARE = 0.02
"""Largest error of a total that a tool does not count, but that follows from its rate."""


@dataclass(frozen=True)
class Answers:
    """A tool's report of one direction of a run."""

    sender: Record
    receiver: Record


def parse_answers(
    tool: Tool, client: str, server: str, asked: TransferRequest, *, brief: bool = False
) -> Answers:
    """Parse the output of both ends."""
    sent = _record(tool, client, "client", asked) if tool.client_counts else None
    if (tool.reads if brief else tool.reporting.intervals_at) == "server":
        got = _record(tool, server, "server", asked)
    else:
        got = sent or _record(tool, client, "client", asked)
    if got.forward.measured_at != "receiver":
        raise RunError(
            f"{tool.name} did not print its receiver's count", reason="peer", code="E-TOOL-001"
        )
    sent = sent or got
    if asked.congestion and sent.congestion not in (None, asked.congestion):
        raise RunError(
            f"{tool.name} ran {sent.congestion} in place of {asked.congestion}",
            reason="peer",
            code="E-TOOL-002",
        )
    return Answers(sent, got)


def is_complete(tool: Tool, server: str, asked: TransferRequest) -> bool:
    """True if a running server has printed the results of all streams."""
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
        raise RunError(
            f"{what} printed damaged output: {error}", reason="peer", code="E-TOOL-003"
        ) from None
    if len(records) != 1:
        raise RunError(
            f"{what} printed {len(records)} results for one run", reason="peer", code="E-TOOL-004"
        )
    (record,) = records
    if record.streams not in (None, asked.streams):
        raise RunError(
            f"{what} ran {record.streams} streams in place of {asked.streams}",
            reason="peer",
            code="E-TOOL-005",
        )
    return record


def counts_of(samples: tuple[Sample, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Cumulative counts of a receiver's streams at common times."""
    streams = sorted({sample.stream for sample in samples})
    by_stream = [
        sorted((s for s in samples if s.stream == stream), key=lambda s: s.t_s)
        for stream in streams
    ]
    length = max((len(part) for part in by_stream), default=0)
    counts = np.zeros((len(streams), length + 1), dtype=np.int64)
    ends = np.full((len(streams), length), np.nan)
    for row, part in enumerate(by_stream):
        ends[row, : len(part)] = [sample.t_s for sample in part]
        counts[row, 1 : len(part) + 1] = np.cumsum([sample.bytes for sample in part])
        counts[row, len(part) + 1 :] = counts[row, len(part)]
    t_s = np.concatenate([[0.0], np.nanmean(ends, axis=0)]) if length else np.zeros(1)
    return np.maximum.accumulate(t_s), counts


def window_of(t_s: np.ndarray, warmup_s: float, seconds: float, step_s: float) -> tuple[int, int]:
    """Indices of the first sample after the warm-up, and of the first after the window."""
    edge_s = EDGE_SHARE * step_s
    opens = int(np.searchsorted(t_s, warmup_s - edge_s))
    if opens >= len(t_s) - 1:
        raise RunError(
            "its receiver reported nothing after the warm-up", reason="peer", code="E-TOOL-006"
        )
    closes = int(np.searchsorted(t_s, t_s[opens] + seconds - edge_s))
    return opens, min(max(closes, opens + 1), len(t_s) - 1)


def flow_of(
    answers: Answers,
    request: Request,
    step_s: float,
    gen_meter: dict,
    sink_meter: dict,
    *,
    brief: bool = False,
) -> Direction:
    """One direction of a run as :func:`netlab.measure.record.record` takes it."""
    sent, got = answers.sender, answers.receiver
    read_B, window_B = got.forward.received_B, got.forward.window_B or 0
    if brief:
        t_s, counts = np.array([0.0, got.forward.window_s]), np.array([[0, window_B]])
        opens, closes = 0, 1
    else:
        t_s, counts = counts_of(got.forward.samples)
        opens, closes = window_of(t_s, request.warmup_ms / 1e3, request.window_ms / 1e3, step_s)
    t_ns = np.round(t_s * 1e9).astype(np.int64)
    whole = counts.sum(axis=0)
    mss_B = sent.mss_B or got.mss_B
    again_B = None
    if sent.retransmits is not None and mss_B is not None:
        again_B = sent.retransmits * mss_B
    tcp = {
        "rtt_us": sent.rtt_us,
        "min_rtt_us": sent.min_rtt_us,
        "cwnd_segments": sent.cwnd_segments,
        "mss_B": mss_B,
        "retransmits": sent.retransmits,
        "bytes_retransmitted": again_B,
    }
    common = {"status": "ok", "code": None, "message": None, "streams": request.streams}
    gen = {
        **common,
        "t_go_ns": 0,
        "total_bytes": sent.forward.sent_B,
        "interval_sum_bytes": None,
        "per_stream": [
            {
                "stream": 0,
                "t_end_ns": 0,
                "sndbuf_B": sent.sndbuf_B,
                "congestion": sent.congestion,
                "tcp": tcp,
            }
        ],
        "losses_unknown": again_B is None,
        "own_cpu_whole": True,
        "trace": None,
        "meter": gen_meter,
    }
    sink = {
        **common,
        "t_go_ns": 0,
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
    return Direction(gen, sink)


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
    if read_B > sent_B + slack_B or (tool.reads_all and read_B < sent_B - slack_B):
        problems.append(f"the sender gave away {sent_B} B, but the receiver read {read_B} B")
    return (abs(sent_B - read_B) if tool.reads_all else None), problems


ROUNDED_B = 128
"""nuttcp prints amounts with four decimals of a MiB: rounding of two differs by at most this."""
