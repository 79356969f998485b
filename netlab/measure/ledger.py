"""The ledger: counts of a run's bytes at every place they passed, which must agree.

Exact counts (what send() took, what the sink read, the sum of the intervals) must be equal. A
datagram is received or lost: at the sender's interface, in an emulated path, at the full buffer of
the receiver's socket, or on a wire that counts nothing.
TCP's own counts also hold the hello of each stream and the sequence numbers of SYN and FIN.
Interface counts also hold headers, acknowledgements and whatever else used the interface.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from netlab.files.run_results import (
    DatagramKey,
    EndResult,
    InterfaceCounts,
    Meter,
    ReadEnd,
    SentEnd,
)
from netlab.measure.emulator_report import Emulated
from netlab.measure.exchange import Direction, RunOutcome, datagrams, datagrams_of, meter_of, tcp_of
from netlab.measure.senders import Part
from netlab.units import ETHERNET_HEADER_B, HEADERS_MOST_B, IPV6_HEADER_B, UDP_HEADER_B

HELLO_B = 64
SEQUENCE_SLACK_B = 2
"""SYN and FIN each take one sequence number, so TCP's counts may be up to 2 above the payload."""

WRAP_B = 2**32

UDP_HEADERS_MOST_B = ETHERNET_HEADER_B + IPV6_HEADER_B + UDP_HEADER_B

LEAST_HEADERS_B = 60
"""Headers of a packet of TCP over IPv4, with timestamps and 8 B of other options; of UDP fewer."""

INTERFACE_SLACK_SHARE = 0.002
INTERFACE_SLACK_B = 262_144
"""Allowance for handshakes, neighbour discovery and window probes."""


Ends = tuple[SentEnd, ReadEnd]
TcpBytes = Literal["bytes_acked", "bytes_received"]
Place = Literal["incoming_cpu", "napi_id"]
"""Place at which the kernel received a stream: a CPU, a queue of the card."""

ARRIVED: tuple[DatagramKey, ...] = ("received", "duplicates", "invalid")


@dataclass
class Ledger:
    error_B: int | None = 0
    problems: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    header_share: float | None = None


def audit(
    flows: Sequence[Ends],
    *,
    mtu_B: int,
    both: bool,
    cross: Direction | None = None,
    parts: Sequence[Part] = (),
) -> Ledger:
    """Audit the directions of a run; of several senders (``parts``) also what each sent."""
    ledger = Ledger()
    for part in parts:
        name = f"from {part.host}"
        _exact(ledger, name, part.gen, part.sink)
        _tcp(ledger, name, part.gen, part.sink)
        pair = [(part.gen, part.sink)]
        audit_interfaces(ledger, pair, mtu_B=mtu_B, both=False, sender=part.host)
    if cross is not None:
        _exact(ledger, "cross traffic", cross.gen, cross.sink)
        _window(ledger, "cross traffic", cross.sink)
    for name, (gen, sink) in zip(("forward", "reverse"), flows, strict=False):
        _exact(ledger, name, gen, sink)
        _tcp(ledger, name, gen, sink)
        _window(ledger, name, sink)
    beside_B = [most_B for most_B, _ in crossed(*flows[0], cross)]
    audit_interfaces(ledger, flows, mtu_B=mtu_B, both=both, beside_B=beside_B)
    return ledger


def crossed(gen: SentEnd, sink: ReadEnd, cross: Direction | None) -> list[tuple[int, int]]:
    """Most bytes and packets of cross traffic on the sender's interface, and on the receiver's.

    Between the readings of both interfaces, from the nearest samples around them: the datagrams
    begin before the streams, and outlast them.
    """
    if cross is None:
        return [(0, 0), (0, 0)]
    ends: Sequence[tuple[EndResult, EndResult]] = ((gen, cross.gen), (sink, cross.sink))
    return [
        _crossed(meter_of(streams, "total"), datagram_B(cross.gen), own) for streams, own in ends
    ]


def _crossed(meter: Meter, size_B: int, own: EndResult) -> tuple[int, int]:
    t_ns = np.asarray(own["samples"].get("t_ns", ()), np.int64)
    if not size_B or not meter or not t_ns.size:
        return 0, 0
    so_far_B = np.asarray(own["samples"]["bytes"], np.int64).sum(axis=0)
    first = np.searchsorted(t_ns, meter["t0_ns"], "right") - 1
    last = np.searchsorted(t_ns, meter["t1_ns"])
    passed_B = own["total_bytes"] if last == t_ns.size else so_far_B[last]
    passed_B -= so_far_B[first] if first >= 0 else 0
    # a socket without room drops what the interface received
    packets = int(passed_B) // size_B + 1 + datagrams("socket_drops", own)
    return packets * (size_B + UDP_HEADERS_MOST_B), packets


def _exact(ledger: Ledger, name: str, gen: SentEnd, sink: ReadEnd) -> None:
    sent = gen["total_bytes"]
    lost_B = datagrams("lost", sink) * datagram_B(gen)
    counts = {
        "the sink read": sink["total_bytes"] + lost_B,
        "its intervals sum to": sink["interval_sum_bytes"] + lost_B,
        "its streams sum to": sum(s["bytes"] for s in sink["per_stream"]) + lost_B,
        "the sender's intervals sum to": gen["interval_sum_bytes"],
    }
    for what, count in counts.items():
        if count != sent:
            ledger.error_B = max(ledger.error_B or 0, abs(count - sent))
            and_lost = f", {lost_B} B of them lost" if lost_B else ""
            ledger.problems.append(f"{name}: send() took {sent} B, but {what} {count} B{and_lost}")
    lost, dropped = datagrams("lost", sink), datagrams("socket_drops", sink)
    if dropped > lost:
        ledger.problems.append(f"{name}: {lost} datagrams lost, but {dropped} by the socket alone")


def _window(ledger: Ledger, name: str, sink: ReadEnd) -> None:
    """Compare the bytes of the window with the samples at its edges, or on either side of them."""
    t_ns = np.asarray(sink["samples"].get("t_ns", ()), np.int64)
    if t_ns.size < 2:
        return
    if (np.diff(t_ns) < 0).any():
        ledger.problems.append(f"{name}: the times of the sink's samples run back")
        return
    window, last = sink.get("window"), t_ns.size - 1
    if not window:
        return
    so_far = np.asarray(sink["samples"]["bytes"], np.int64).sum(axis=0)
    after, until = np.searchsorted(t_ns, [window["t0_ns"], window["t1_ns"]])
    before = np.searchsorted(t_ns, window["t0_ns"], "right") - 1
    within = np.searchsorted(t_ns, window["t1_ns"], "right") - 1
    end_B = so_far[until] if until <= last else sink["total_bytes"]
    most_B = int(end_B - (so_far[before] if before >= 0 else 0))
    least_B = int(so_far[within] - so_far[after]) if after < within else 0
    if not least_B <= window["bytes"] <= most_B:
        nearest_B = least_B if window["bytes"] < least_B else most_B
        ledger.error_B = max(ledger.error_B or 0, abs(window["bytes"] - nearest_B))
        ledger.problems.append(
            f"{name}: the sink's window has {window['bytes']} B, but its samples {nearest_B} B"
        )


def datagram_B(gen: SentEnd) -> int:
    """Bytes of each datagram of a sender; 0 for TCP, and for a tool that prints no total."""
    sent = datagrams("sent", gen)
    return gen["total_bytes"] // sent if sent and gen["total_bytes"] else 0


def audit_path(ledger: Ledger, outcome: RunOutcome, emulated: Emulated) -> None:
    """Compare the datagrams of a run with those that its emulator took and delivered.

    Not beside a latency probe, whose datagrams the emulator counts as well.
    """
    if any(flow.gen.get("latency") or flow.gen.get("latency_tcp") for flow in outcome.flows):
        return
    flows = (outcome.cross,) if outcome.cross else outcome.flows
    for flow, (taken, delivered) in zip(flows, emulated.datagrams(), strict=False):
        if not datagrams_of(flow.sink):
            continue
        sent, dropped = datagrams("sent", flow.gen), datagrams("socket_drops", flow.sink)
        interface = meter_of(flow.gen, "total").get("interface") or InterfaceCounts()
        if not 0 <= sent - taken <= interface.get("tx_dropped", 0):
            ledger.problems.append(f"the emulator took {taken} of {sent} datagrams sent")
        arrived = sum(datagrams(name, flow.sink) for name in ARRIVED)
        missing = delivered - arrived - dropped
        # a socket counts what the kernel had joined as one drop
        if missing < 0 or (missing > 0 and not (dropped and flow.sink["receive"] == "gro")):
            ledger.problems.append(
                f"the emulator delivered {delivered} datagrams, of which {arrived} were received "
                f"and {dropped} dropped by the socket"
            )


def audit_links(ledger: Ledger, emulated: Emulated, *, over_one: bool) -> None:
    """Compare the packets that came to each emulated link with those that left it or were dropped.

    Of two links in a row the second one has what the first one passed on, and more only where
    flows pass one link alone (``over_one``).
    """
    came, passed = [], []
    for hop in emulated.hops:
        for direction, then, now in emulated.ways(hop):
            grown = {
                name: now[name] - then[name]
                for name in ("in_packets", "out_packets", "stored_packets", "passed_packets")
            }
            dropped = sum(now["dropped"].values()) - sum(then["dropped"].values())
            gone = grown["out_packets"] + dropped + grown["stored_packets"]
            if grown["in_packets"] != gone:
                ledger.problems.append(
                    f"{grown['in_packets']} packets came to {_LINKS[hop]} ({direction}), and "
                    f"{gone} left it, were dropped or wait"
                )
            came.append(((hop, direction), grown["in_packets"]))
            passed.append(((hop, direction), grown["passed_packets"]))
    counts, to_next = dict(came), dict(passed)
    for (hop, direction), handed in to_next.items():
        follows = hop == (0 if direction == "ab" else 1) and (1 - hop, direction) in counts
        more = counts[1 - hop, direction] - handed if follows else 0
        if more < 0 or (more > 0 and not over_one):
            ledger.problems.append(
                f"{_LINKS[hop]} passed {handed} packets on ({direction}), and "
                f"{counts[1 - hop, direction]} came to the other one"
            )


_LINKS = ("the first link", "the second link")


def _tcp(ledger: Ledger, name: str, gen: SentEnd, sink: ReadEnd) -> None:
    counts: Sequence[tuple[str, EndResult, TcpBytes]] = (
        ("acknowledged", gen, "bytes_acked"),
        ("received", sink, "bytes_received"),
    )
    for what, side, key in counts:
        for stream in side["per_stream"]:
            count = tcp_of(stream).get(key)
            if count is None:
                continue
            over = count - stream["bytes"] - HELLO_B
            if not 0 <= over <= SEQUENCE_SLACK_B:
                ledger.error_B = max(ledger.error_B or 0, abs(over))
                ledger.problems.append(
                    f"{name}: stream {stream['stream']} carried {stream['bytes']} B, but TCP "
                    f"{what} {count} B"
                )


def audit_interfaces(
    ledger: Ledger,
    flows: Sequence[Ends],
    *,
    mtu_B: int,
    both: bool,
    beside_B: Sequence[int] = (0, 0),
    sender: str = "the sender",
) -> None:
    """Each interface saw at least the payload, and at most payload, headers and acks.

    ``beside_B`` is what else the sender sent and the receiver received, at most.

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
        again = sum(tcp_of(s).get("bytes_retransmitted") or 0 for s in gen["per_stream"])
        full_B = segment_B(gen, mtu_B)
        offered = max(payload, gen["total_bytes"] or 0)
        segments = offered / full_B + 1
        most = offered + again + segments * (ETHERNET_HEADER_B + _headers_most_B(gen, mtu_B))
        if both:
            # acknowledgements of the other direction: at most one for each segment
            back = flows[1 - index][1]["total_bytes"]
            back_B = segment_B(flows[1 - index][0], mtu_B)
            most += (back / back_B + 1) * (ETHERNET_HEADER_B + HEADERS_MOST_B)
        most += INTERFACE_SLACK_SHARE * payload + INTERFACE_SLACK_B
        unsure = sink.get("unsure_bytes") or 0
        least, most = payload - unsure, math.inf if unsure else most
        received = _counted(sink, "rx_bytes")
        beside_sender_B, beside_sink_B = (0, 0) if index else beside_B
        ends = (
            ("the sink", "received", received, beside_sink_B),
            (sender, "sent", _counted(gen, "tx_bytes"), beside_sender_B),
        )
        for end, did, seen, more_B in ends[: 1 if gen.get("losses_unknown") else 2]:
            if seen is not None and not least <= seen <= most + more_B:
                problems = ledger.problems if seen < least else ledger.surplus
                problems.append(
                    f"{end}'s interface {did} {seen} B for {payload} B of payload "
                    f"(at most {most + more_B:.0f} B expected): "
                    f"{_why(seen, payload, most + more_B)}"
                )
        if received is not None and not beside_sink_B:
            share = received / payload - 1
            ledger.header_share = max(share, ledger.header_share or share)


def segment_B(gen: SentEnd, mtu_B: int) -> int:
    """The least payload that full segments or datagrams of a sender carried, B."""
    if size_B := datagram_B(gen):
        return min(mtu_B - 60, size_B)
    sizes = [tcp_of(s).get("mss_B") or mtu_B for s in gen["per_stream"]]
    return max(1, min([mtu_B - 60, *sizes]))


def _headers_most_B(gen: SentEnd, mtu_B: int) -> int:
    """Most bytes of headers in a packet of a sender: of TCP what its segments leave of the MTU."""
    if datagram_B(gen):
        return LEAST_HEADERS_B
    sizes = [tcp_of(stream).get("mss_B") for stream in gen["per_stream"]]
    known = [size_B for size_B in sizes if size_B]
    if len(known) < len(sizes) or not known:
        return HEADERS_MOST_B
    return min(HEADERS_MOST_B, max(LEAST_HEADERS_B, mtu_B - min(known)))


def _why(seen: int, payload: int, most: float) -> str:
    wraps = -(-(payload - seen) // WRAP_B)
    # the bounds of a long run are so wide that some number of wraps always fits
    if wraps > 0 and seen + wraps * WRAP_B <= most and most - payload < WRAP_B / 4:
        times = "once" if wraps == 1 else f"{wraps} times"
        return f"a 32-bit counter that wrapped unseen {times} would explain it"
    if seen > most:
        return "foreign traffic, or a counter that lies"
    if seen < payload / 10:  # a few packets of other traffic
        return "another interface carries it (`ip route get`, `ip neigh`), or a counter lies"
    return "a counter that lies"


def _counted(result: EndResult, name: Literal["rx_bytes", "tx_bytes"]) -> int | None:
    interface = meter_of(result, "total").get("interface")
    return None if not interface or interface.get("reset") else interface[name]
