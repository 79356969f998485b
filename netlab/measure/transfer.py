"""How long a transfer of known size took: first byte sent to last byte read at the sink.

The agents note both moments as they happen, each on its own clock, so no sampling interval
enters the figure. Between two clocks only the bytes that passed tell: the sink's G was said
before it was heard, the first byte was sent before it was read. That bounds the offset of the
clocks from both sides, as NTP does (RFC 5905, section 8), and the bounds are one round trip apart.
"""

from __future__ import annotations

from dataclasses import dataclass

from netlab.errors import RunError


@dataclass(frozen=True)
class Transfer:
    """A transfer of known size.

    Attributes
    ----------
    bytes : int
        Payload that the sink read, all streams.
    seconds : float
        First byte sent to last byte read.
    error_s : float
        `seconds` is right to this much either way; 0 on one clock.
    """

    bytes: int
    seconds: float
    error_s: float

    @property
    def goodput_MBps(self) -> float:
        """Payload over time, in 10^6 B/s."""
        return self.bytes / self.seconds / 1e6


def transfer_of(gen: dict, sink: dict, *, one_clock: bool) -> Transfer:
    """Time a fixed-byte run.

    Parameters
    ----------
    gen, sink : dict
        Their results, as ``native/PROTOCOL.md`` says, of a run with ``bytes``.
    one_clock : bool
        Both agents ran under one kernel, whose CLOCK_MONOTONIC both read.

    Raises
    ------
    RunError
        The run did not end well, was timed, or its moments are in no order that can be: a byte
        was read before it was sent.
    """
    for name, result in (("sender", gen), ("sink", sink)):
        if result["status"] != "ok":
            raise RunError(
                f"{name}: {result.get('message') or result['status']}",
                reason="peer",
                code="E-MEASURE-004",
            )
    sent_ns, read_ns = gen["t_first_byte_ns"], sink["t_first_byte_ns"]
    last_ns = max((stream.get("t_last_ns") or 0) for stream in sink["per_stream"])
    if not last_ns:
        raise RunError(
            "a timed run has no length of its own to measure",
            reason="bad_request",
            code="E-MEASURE-005",
        )
    # what the sink's clock is ahead of the gen's: at least, at most
    least_ns, most_ns = sink["t_go_ns"] - gen["t_let_go_ns"], read_ns - sent_ns
    if one_clock:
        ahead_ns, error_ns = 0, 0
        possible = least_ns <= 0 <= most_ns
    else:
        ahead_ns, error_ns = (least_ns + most_ns) / 2, (most_ns - least_ns) / 2
        possible = least_ns <= most_ns
    if not possible or last_ns < read_ns:
        raise RunError(
            "a byte was read before it was sent: a clock was stepped",
            reason="internal",
            code="E-MEASURE-006",
        )
    return Transfer(sink["total_bytes"], (last_ns - ahead_ns - sent_ns) / 1e9, error_ns / 1e9)
