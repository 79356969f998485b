"""Single TCP segments, each on a connection of its own: largest packet and round trip of a path.

One segment at a time cannot be part of a super-packet (TSO, GSO), so it has its true size on
every link. TCP sets don't-fragment. A segment that is lost without an answer of the network (a
path MTU black hole) is therefore lost here as well, with the ports and the firewall rules of a
run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from netlab.measure.exchange import Request, RunEnd, measure, tcp_of

TIMESTAMPS = 1
"""Bit of TCP_INFO's options: each segment has 12 B of timestamps."""

LOST_MS = 500
"""A segment is lost without an acknowledgement in this time and four round trips: TCP has sent it
at least twice by then."""

BURST_PROBES = 4
"""Probes on end that a burst of losses may take, before a size counts as too large."""

AGAIN = 3
"""Probes on end that arrive after one was lost, on a path that carries their size."""

ETHERNET_B = 1500
"""The MTU tried first where full-size packets are lost."""


@dataclass(frozen=True)
class PacketSize:
    sender: str
    receiver: str
    full_B: int
    passed_B: int

    @property
    def passes(self) -> bool:
        return self.passed_B >= self.full_B

    def text(self) -> str:
        where = f"from {self.sender} to {self.receiver}"
        if self.passes:
            return f"packets of {self.full_B} B pass {where}"
        if not self.passed_B:
            return f"no data arrive {where}"
        return (
            f"packets of {self.full_B} B are lost {where}, packets of up to {self.passed_B} B "
            "arrive: a link between them has a smaller MTU"
        )


def packet_size(sender: RunEnd, receiver: RunEnd, request: Request) -> PacketSize:
    """Send full-size packets one way; if they are lost, find the largest that arrives.

    Takes three round trips on a sound path, and a few seconds on one that loses packets.
    """
    probe = _Probe(sender, receiver, request)
    if not probe.arrives(1):
        return PacketSize(sender.host, receiver.host, probe.packet_B(probe.mss_B), 0)
    probe.wait_ms = LOST_MS + 4 * probe.rtt_us // 1000
    full_B = probe.mss_B
    # with segmentation offload one of some ten gets through a veth link that drops it
    passes = all(probe.arrives(full_B) for _ in range(2))
    if not passes and 1 < probe.split_B < full_B:  # a router has answered
        full_B = probe.split_B
        passes = all(probe.arrives(full_B) for _ in range(2))
    # what is too large is lost each time, what met a burst of losses is not
    passes = passes or any(
        all(probe.arrives(full_B) for _ in range(AGAIN)) for _ in range(BURST_PROBES)
    )
    passed_B = full_B if passes else _largest(probe, full_B)
    return PacketSize(sender.host, receiver.host, probe.packet_B(full_B), probe.packet_B(passed_B))


def tcp_rtt_s(sender: RunEnd, receiver: RunEnd, request: Request) -> float:
    """RTT of a connection that carries one byte, s, for a path that answers no ping; 0 if lost."""
    probe = _Probe(sender, receiver, request)
    return probe.rtt_us / 1e6 if probe.arrives(1) else 0.0


def _largest(probe: _Probe, lost_B: int) -> int:
    passed_B = 1
    guess_B = ETHERNET_B - probe.headers_B
    first = [guess_B, guess_B + 1]
    while lost_B - passed_B > 1:
        size_B = (passed_B + lost_B) // 2
        if first:
            size_B = min(max(first.pop(0), passed_B + 1), lost_B - 1)
        if probe.arrives(size_B):
            passed_B = size_B
        else:
            lost_B = size_B
    return passed_B


class _Probe:
    def __init__(self, sender: RunEnd, receiver: RunEnd, request: Request):
        self._sender, self._receiver, self._request = sender, receiver, request
        self.wait_ms = request.drain_ms
        self.mss_B = self.rtt_us = 0
        self.split_B = 0  # MSS of the last connection that delivered a segment in parts
        self.headers_B = 60 if ":" in sender.address else 40

    def packet_B(self, payload_B: int) -> int:
        return payload_B + self.headers_B if payload_B else 0

    def arrives(self, payload_B: int) -> bool:
        """True if a segment of this payload arrives whole; probes once."""
        request = replace(
            self._request,
            streams=1,
            both=False,
            trace=False,
            warmup_ms=0,
            window_ms=0,
            bytes_per_stream=payload_B,
            record_length_B=payload_B,
            drain_ms=self.wait_ms,
        )
        flow = measure(self._sender, self._receiver, request).flows[0]
        stream = flow.gen["per_stream"][0]
        tcp = tcp_of(stream)
        if not self.mss_B:
            self.mss_B, self.rtt_us = stream["mss_B"], tcp.get("rtt_us") or 0
            self.headers_B += 12 if (tcp.get("options") or 0) & TIMESTAMPS else 0
        # TCP splits a segment when a router reports a smaller MTU, and some kernels when it is lost
        mss_B = tcp.get("mss_B") or 0
        arrived = bool(flow.sink["total_bytes"] == payload_B)
        self.split_B = mss_B if arrived and mss_B < payload_B else 0
        return arrived and mss_B >= payload_B
