"""Duration of a transfer of known size: first byte sent to last byte read at the sink.

Each agent records its moment on its own clock, without a sampling interval. The offset of two
clocks is bounded from both sides: the sink's go was sent before it was received, and the first
byte was sent before it was read. The bounds are one round trip apart, as in NTP (RFC 5905,
section 8).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netlab.errors import RunError
from netlab.files.run_results import EndResult, ReadEnd, SentEnd


@dataclass(frozen=True)
class Transfer:
    bytes: int
    seconds: float
    error_s: float

    @property
    def goodput_MBps(self) -> float:
        return self.bytes / self.seconds / 1e6


def transfer_of(gen: SentEnd, sink: ReadEnd, *, one_clock: bool) -> Transfer:
    ends: Sequence[tuple[str, EndResult]] = (("sender", gen), ("sink", sink))
    for name, result in ends:
        if result["status"] != "ok":
            message = f"{name}: {result.get('message') or result['status']}"
            raise RunError(message, reason="peer", code="E-MEASURE-004")
    sent_ns, read_ns = gen["t_first_byte_ns"], sink["t_first_byte_ns"]
    last_ns = max((stream.get("t_last_ns") or 0) for stream in sink["per_stream"])
    if not last_ns:
        message = "a timed run has no size; only a run of fixed bytes can be timed by its bytes"
        raise RunError(message, reason="bad_request", code="E-MEASURE-005")
    # lead of the sink's clock over the gen's: at least, at most
    least_ns, most_ns = sink["t_go_ns"] - gen["t_let_go_ns"], read_ns - sent_ns
    if one_clock:
        ahead_ns, error_ns = 0.0, 0.0
        possible = least_ns <= 0 <= most_ns
    else:
        ahead_ns, error_ns = (least_ns + most_ns) / 2, (most_ns - least_ns) / 2
        possible = least_ns <= most_ns
    if not possible or last_ns < read_ns:
        message = "a byte was read before it was sent: a clock was stepped"
        raise RunError(message, reason="internal", code="E-MEASURE-006")
    return Transfer(sink["total_bytes"], (last_ns - ahead_ns - sent_ns) / 1e9, error_ns / 1e9)
