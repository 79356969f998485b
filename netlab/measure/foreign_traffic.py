"""Traffic of others on the interfaces of a run: what they carried beyond the run's own segments.

TCP counts the payload and the segments that each socket sent, retransmissions included. With the
largest header that a segment can have, that bounds what the run can have put on either interface;
a surplus is foreign. A count below the payload is a matter of the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netlab.measure.exchange import RunOutcome
from netlab.units import ETHERNET_HEADER_B

LARGEST_HEADERS_B = 72
"""IPv6 and TCP with timestamps."""

SACK_BLOCKS_B = 28
"""Further options of a segment without payload."""

LOOPBACK = "lo"
"""It sends what it receives: its counters have both directions."""

SLACK_B = 65_536
SLACK_PACKETS = 64
"""Allowance for neighbour discovery, the clocks' protocol and the like."""


@dataclass(frozen=True)
class ForeignTraffic:
    """Traffic on an interface that is not the run's."""

    percent: float
    where: str = ""


def foreign_traffic(outcome: RunOutcome, *, mtu_B: int) -> ForeignTraffic | None:
    """Return the foreign traffic of the interface and direction that had most."""
    flows = outcome.flows
    forward, reverse = flows[0], flows[1] if len(flows) == 2 else None
    sent_there = [forward.gen, *([reverse.sink] if reverse else [])]
    sent_back = [forward.sink, *([reverse.gen] if reverse else [])]
    found = []
    both = [_interface(forward.gen), _interface(forward.sink)]
    for (end, sends, receives), interface, other in zip(
        (("sender", sent_there, sent_back), ("sink", sent_back, sent_there)),
        both,
        reversed(both),
        strict=True,
    ):
        if not interface or not other:
            return None
        if interface["name"] == LOOPBACK:
            sends = receives = [*sends, *receives]
        mosts = [most for own in (sends, receives) if (most := _most(own, mtu_B)) is not None]
        if len(mosts) < 2:
            return None
        busier = [max(counts) for counts in zip(*mosts, strict=True)]
        mosts[1] = (mosts[1][0], mosts[1][1] + _cut_by_card(other, mosts[1][1]))
        for prefix, verb, most in zip(("tx", "rx"), ("sent", "received"), mosts, strict=True):
            counted = (interface[f"{prefix}_bytes"], interface[f"{prefix}_packets"])
            percent = _surplus(counted, most, busier)
            found.append(ForeignTraffic(percent, f"{verb} by the {end}'s interface"))
    return max(found, key=lambda one: one.percent)


def _interface(result: dict) -> dict | None:
    """Counts of an end's interface over the whole run; None without them, or after a reset."""
    counts = ((result.get("meter") or {}).get("total") or {}).get("interface")
    return None if not counts or counts.get("reset") else counts


def _cut_by_card(sender: dict, segments: int) -> int:
    """Frames that a card may make beyond the segments: one for each super-packet that it cuts.

    The sending interface counts a super-packet, of two segments or more, as one packet.
    """
    packets = sender["tx_packets"]
    return max(0, min(packets, segments - packets))


def _most(results: Sequence[dict], mtu_B: int) -> tuple[int, int] | None:
    """Most bytes and packets that the sockets of these results can have sent."""
    total_B = packets = 0
    for tcp in _sockets(results):
        segments, sent_B = tcp.get("segs_out"), tcp.get("bytes_sent")
        mss_B = max(1, tcp.get("mss_B") or 1)
        # a kernel that lacks a count reports 0
        if not segments or sent_B is None or (not sent_B and tcp.get("bytes_acked")):
            return None
        if segments < sent_B / mss_B / 2:
            return None  # the 32 bits of the count have wrapped
        headers_B = ETHERNET_HEADER_B + min(LARGEST_HEADERS_B, max(0, mtu_B - mss_B))
        bare = max(0, segments - sent_B // mss_B)
        total_B += sent_B + segments * headers_B + bare * SACK_BLOCKS_B
        packets += segments
    return (total_B, packets) if packets else None


def _sockets(results: Sequence[dict]) -> Iterator[dict]:
    for result in results:
        for stream in result["per_stream"]:
            yield stream.get("tcp") or {}


def _surplus(counted: Sequence[int], most: Sequence[int], whole: Sequence[int]) -> float:
    """Largest surplus of bytes and of packets, in per cent of the run's own, the busier way."""
    shares = [
        100 * max(0, seen - limit - slack) / of
        for seen, limit, slack, of in zip(
            counted, most, (SLACK_B, SLACK_PACKETS), whole, strict=True
        )
    ]
    return max(shares)
