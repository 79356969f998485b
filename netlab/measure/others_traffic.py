"""Traffic of others on the interfaces of a run: what they carried beyond the run's own segments.

TCP counts the payload and the segments that each socket sent, retransmissions included. With the
largest header that a segment can have, that bounds what the run can have put on either interface;
a surplus is foreign. Of UDP and of other tools, what arrived and the other end did not send is.
A count below the payload is a matter of the ledger.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from netlab.files.run_results import EndResult, InterfaceCounts, ProbeWay, SentProbes
from netlab.measure.exchange import Direction, RunOutcome, meter_of, tcp_of
from netlab.measure.ledger import crossed, segment_B
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

PROBE_FRAME_B = 64 + 48 + 14
"""Datagram of the latency probe, with headers of UDP, IPv6 and Ethernet."""

PROBE_FRAMES: dict[ProbeWay, int] = {"latency": 2, "latency_tcp": 4}
"""Frames of a probe: question and answer, over TCP each with an acknowledgement."""


def foreign_traffic(outcome: RunOutcome, *, mtu_B: int) -> float | None:
    """Foreign traffic of the interface and direction with most, in per cent of the run's own."""
    forward, *reverse = outcome.flows
    if forward.parts:
        return _of_several(forward, mtu_B)
    results: list[EndResult] = [forward.gen, *(flow.sink for flow in reverse)]
    back: list[EndResult] = [forward.sink, *(flow.gen for flow in reverse)]
    probes = sum(
        frames * (flow.gen.get(way) or SentProbes()).get("sent", 0)
        for flow in outcome.flows
        for way, frames in PROBE_FRAMES.items()
    )
    shares = []
    both = [_interface(forward.gen), _interface(forward.sink)]
    beside = crossed(forward.gen, forward.sink, outcome.cross)
    ends = zip(both, both[::-1], (results, back), (back, results), strict=True)
    for at, (interface, other, sends, receives) in enumerate(ends):
        if not interface or not other:
            return None
        if interface["name"] == LOOPBACK:
            sends = receives = [*sends, *receives]
        mosts = [most for own in (sends, receives) if (most := _most(own, mtu_B)) is not None]
        if len(mosts) < 2:
            return _unsent(outcome, [counts for counts in both if counts], beside[1][1], mtu_B)
        mosts = [(own_B + probes * PROBE_FRAME_B, n + probes) for own_B, n in mosts]
        for way in (0, 1) if interface["name"] == LOOPBACK else (at,):
            mosts[way] = (mosts[way][0] + beside[at][0], mosts[way][1] + beside[at][1])
        busier = [max(counts) for counts in zip(*mosts, strict=True)]
        mosts[1] = (mosts[1][0], mosts[1][1] + _cut_by_card(other, mosts[1][1]))
        sent = (interface["tx_bytes"], interface["tx_packets"])
        received = (interface["rx_bytes"], interface["rx_packets"])
        for counted, most in zip((sent, received), mosts, strict=True):
            shares.append(_surplus(counted, most, busier))
    return max(shares)


_End = tuple[InterfaceCounts, InterfaceCounts, Sequence[EndResult], Sequence[EndResult]]
"""Counters of an interface and of the other one, with what is sent and received there."""


def _of_several(flow: Direction, mtu_B: int) -> float | None:
    """The same of a run of several senders: at each its own, at the receiver those of all."""
    sinks = [part.sink for part in flow.parts]
    receiver = _interface(flow.sink)
    senders = [_interface(gen) for gen in flow.gens]
    known = [one for one in senders if one]
    if receiver is None or len(known) < len(senders):
        return None
    packets: InterfaceCounts = {"tx_packets": sum(one["tx_packets"] for one in known)}
    ends: list[_End] = [
        (receiver, packets, [flow.sink], flow.gens),
        *((own, receiver, [gen], [s]) for own, gen, s in zip(known, flow.gens, sinks, strict=True)),
    ]
    shares = []
    for interface, other, sends, receives in ends:
        sent, received = _most(sends, mtu_B), _most(receives, mtu_B)
        if sent is None or received is None:
            return None
        cut = _cut_by_card(other, received[1])
        busier = (max(sent[0], received[0]), max(sent[1], received[1]))
        counted = (interface["tx_bytes"], interface["tx_packets"])
        shares.append(_surplus(counted, sent, busier))
        counted = (interface["rx_bytes"], interface["rx_packets"])
        shares.append(_surplus(counted, (received[0], received[1] + cut), busier))
    return max(shares)


def _unsent(
    outcome: RunOutcome, both: Sequence[InterfaceCounts], beside: int, mtu_B: int
) -> float | None:
    """Packets that arrived beyond those of the other end, where a sender counts no segments.

    A card counts packets as it cuts them, or one for all that it cuts. None if a sender does not
    count what it sent again, of which as many could be cut.
    """
    shares = []
    ends = (both, both[::-1])
    for (interface, other), flow in itertools.zip_longest(ends, outcome.flows):
        cut = beside
        if flow is not None:
            if flow.gen.get("losses_unknown"):
                return None
            tcps = [tcp_of(stream) for stream in flow.gen["per_stream"]]
            again_B = sum(tcp.get("bytes_retransmitted") or 0 for tcp in tcps)
            offered_B = max(flow.sink["total_bytes"], flow.gen["total_bytes"] or 0)
            cut += (offered_B + again_B) // segment_B(flow.gen, mtu_B) + 1
        most = interface["tx_packets"] + cut
        shares.append(100 * max(0, other["rx_packets"] - most - SLACK_PACKETS) / most)
    return max(shares)


def _interface(result: EndResult) -> InterfaceCounts | None:
    """Counts of an end's interface over the whole run; None without them, or after a reset."""
    counts = meter_of(result, "total").get("interface")
    return None if not counts or counts.get("reset") else counts


def _cut_by_card(sender: InterfaceCounts, segments: int) -> int:
    """Most frames beyond the segments: one for each packet of two or more that the card cuts."""
    packets = sender["tx_packets"]
    return max(0, min(packets, segments - packets))


def _most(results: Sequence[EndResult], mtu_B: int) -> tuple[int, int] | None:
    """Most bytes and packets that the sockets of these results can have sent."""
    total_B = packets = 0
    for tcp in (tcp_of(stream) for one in results for stream in one["per_stream"]):
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


def _surplus(counted: Sequence[int], most: Sequence[int], whole: Sequence[int]) -> float:
    """Largest surplus of bytes and of packets, in per cent of the run's own, the busier way."""
    slack = (SLACK_B, SLACK_PACKETS)
    of_each = zip(counted, most, slack, whole, strict=True)
    return max(100 * max(0, seen - limit - spare) / of for seen, limit, spare, of in of_each)
