"""The ledger: counts of a run's bytes at every place they passed, which must agree.

Exact counts (what send() took, what the sink read, the sum of the intervals) must be equal.
TCP's own counts also hold the hello of each stream and the sequence numbers of SYN and FIN.
Interface counts also hold headers, acknowledgements and whatever else used the interface.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from netlab.units import ETHERNET_HEADER_B

HELLO_B = 64
SEQUENCE_SLACK_B = 2
"""SYN and FIN each take one sequence number, so TCP's counts may be up to 2 above the payload."""

WRAP_B = 2**32

INTERFACE_SLACK_SHARE = 0.002
INTERFACE_SLACK_B = 262_144
"""Allowance for handshakes, neighbour discovery and window probes."""


@dataclass
class Ledger:
    """The audit of one run."""

    error_B: int | None = 0
    problems: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    header_share: float | None = None


def audit(flows: list[tuple[dict, dict]], *, mtu_B: int, both: bool) -> Ledger:
    """Check every count of a run against every other."""
    ledger = Ledger()
    for name, (gen, sink) in zip(("forward", "reverse"), flows, strict=False):
        _exact(ledger, name, gen, sink)
        _tcp(ledger, name, gen, sink)
    audit_interfaces(ledger, flows, mtu_B=mtu_B, both=both)
    return ledger


def _exact(ledger: Ledger, name: str, gen: dict, sink: dict) -> None:
    sent = gen["total_bytes"]
    counts = {
        "the sink read": sink["total_bytes"],
        "its intervals sum to": sink["interval_sum_bytes"],
        "its streams sum to": sum(s["bytes"] for s in sink["per_stream"]),
        "the sender's intervals sum to": gen["interval_sum_bytes"],
    }
    for what, count in counts.items():
        if count != sent:
            ledger.error_B = max(ledger.error_B, abs(count - sent))
            ledger.problems.append(f"{name}: send() took {sent} B, but {what} {count} B")


def _tcp(ledger: Ledger, name: str, gen: dict, sink: dict) -> None:
    sides = (
        ("acknowledged", gen["per_stream"], "bytes_acked"),
        ("received", sink["per_stream"], "bytes_received"),
    )
    for what, streams, field_name in sides:
        for stream in streams:
            tcp = stream.get("tcp")
            if not tcp or tcp.get(field_name) is None:
                continue
            over = tcp[field_name] - stream["bytes"] - HELLO_B
            if not 0 <= over <= SEQUENCE_SLACK_B:
                ledger.error_B = max(ledger.error_B, abs(over))
                ledger.problems.append(
                    f"{name}: stream {stream['stream']} carried {stream['bytes']} B, but TCP "
                    f"{what} {tcp[field_name]} B"
                )


def audit_interfaces(
    ledger: Ledger, flows: list[tuple[dict, dict]], *, mtu_B: int, both: bool
) -> None:
    """Each interface saw at least the payload, and at most payload, headers and acks.

    A sender without a count of retransmissions (``losses_unknown``) is not checked. A sink may
    read less than its sender sent, where data in flight were left unread. A total that is not
    counted (``unsure_bytes``) bounds an interface from below alone, less its error.
    """
    if both and len(flows) != 2:
        return
    for index, (gen, sink) in enumerate(flows):
        payload = sink["total_bytes"]
        if payload == 0:
            continue
        again = sum((s.get("tcp") or {}).get("bytes_retransmitted") or 0 for s in gen["per_stream"])
        segment_B = _segment_B(gen, mtu_B)
        offered = max(payload, gen["total_bytes"] or 0)
        segments = offered / segment_B + 1
        most = offered + again + segments * (ETHERNET_HEADER_B + 60)
        if both:
            # acknowledgements of the other direction: at most one for each segment
            back = flows[1 - index][1]["total_bytes"]
            back_B = _segment_B(flows[1 - index][0], mtu_B)
            most += (back / back_B + 1) * (ETHERNET_HEADER_B + 80)
        most += INTERFACE_SLACK_SHARE * payload + INTERFACE_SLACK_B
        unsure = sink.get("unsure_bytes") or 0
        least, most = payload - unsure, math.inf if unsure else most
        received = _counted(sink, "rx_bytes")
        ends = (("sink", "received", received), ("sender", "sent", _counted(gen, "tx_bytes")))
        for end, did, seen in ends[: 1 if gen.get("losses_unknown") else 2]:
            if seen is not None and not least <= seen <= most:
                found = ledger.problems if seen < least else ledger.surplus
                found.append(
                    f"the {end}'s interface {did} {seen} B for {payload} B of payload "
                    f"(at most {most:.0f} B expected): {_why(seen, payload, most)}"
                )
        if received is not None:
            share = received / payload - 1
            ledger.header_share = max(share, ledger.header_share or share)


def _segment_B(gen: dict, mtu_B: int) -> int:
    """The least payload that full segments of a sender carried, B."""
    sizes = [(s.get("tcp") or {}).get("mss_B") or mtu_B for s in gen["per_stream"]]
    return max(1, min([mtu_B - 60, *sizes]))


def _why(seen: int, payload: int, most: float) -> str:
    """Return a possible cause of an interface count out of bounds."""
    wraps = -(-(payload - seen) // WRAP_B)
    # the bounds of a long run are so wide that some number of wraps always fits
    if wraps > 0 and seen + wraps * WRAP_B <= most and most - payload < WRAP_B / 4:
        times = "once" if wraps == 1 else f"{wraps} times"
        return f"a 32-bit counter that wrapped unseen {times} would explain it"
    return "foreign traffic, or a counter that lies" if seen > most else "a counter that lies"


def _counted(result: dict, name: str) -> int | None:
    """An interface counter over the whole run; None without one, or when it was reset."""
    meter = (result.get("meter") or {}).get("total") or {}
    interface = meter.get("interface")
    return None if not interface or interface.get("reset") else interface[name]
