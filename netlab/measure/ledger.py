"""The ledger: counts of a run's bytes at every place they passed, which must agree.

Exact counts (what send() took, what the sink read, the sum of the intervals) must be equal. A
datagram is received or lost: at the sender's interface, in an emulated path, at the full buffer of
the receiver's socket, or on a wire that counts nothing.
TCP's own counts also hold the hello of each stream and the sequence numbers of SYN and FIN.
Interface counts also hold headers, acknowledgements and whatever else used the interface.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from netlab.errors import RunError
from netlab.files.run_results import (
    DatagramKey,
    EndResult,
    InterfaceCounts,
    Meter,
    ReadEnd,
    SentEnd,
)
from netlab.measure.exchange import (
    Direction,
    Emulated,
    RunOutcome,
    datagrams,
    datagrams_of,
    meter_of,
    tcp_of,
)
from netlab.measure.senders import Part
from netlab.units import ETHERNET_HEADER_B, IPV6_HEADER_B, UDP_HEADER_B

HELLO_B = 64
SEQUENCE_SLACK_B = 2
"""SYN and FIN each take one sequence number, so TCP's counts may be up to 2 above the payload."""

WRAP_B = 2**32

UDP_HEADERS_MOST_B = ETHERNET_HEADER_B + IPV6_HEADER_B + UDP_HEADER_B

INTERFACE_SLACK_SHARE = 0.002
INTERFACE_SLACK_B = 262_144
"""Allowance for handshakes, neighbour discovery and window probes."""


Ends = tuple[SentEnd, ReadEnd]
TcpBytes = Literal["bytes_acked", "bytes_received"]
Place = Literal["incoming_cpu", "napi_id"]
"""Where the kernel received a stream: a CPU, a queue of the card."""

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
        most = offered + again + segments * (ETHERNET_HEADER_B + 60)
        if both:
            # acknowledgements of the other direction: at most one for each segment
            back = flows[1 - index][1]["total_bytes"]
            back_B = segment_B(flows[1 - index][0], mtu_B)
            most += (back / back_B + 1) * (ETHERNET_HEADER_B + 80)
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


def _why(seen: int, payload: int, most: float) -> str:
    wraps = -(-(payload - seen) // WRAP_B)
    # the bounds of a long run are so wide that some number of wraps always fits
    if wraps > 0 and seen + wraps * WRAP_B <= most and most - payload < WRAP_B / 4:
        times = "once" if wraps == 1 else f"{wraps} times"
        return f"a 32-bit counter that wrapped unseen {times} would explain it"
    return "foreign traffic, or a counter that lies" if seen > most else "a counter that lies"


def _counted(result: EndResult, name: Literal["rx_bytes", "tx_bytes"]) -> int | None:
    interface = meter_of(result, "total").get("interface")
    return None if not interface or interface.get("reset") else interface[name]


# Duration of a transfer of known size: first byte sent to last byte read at the sink.
#
# Each agent records its moment on its own clock, without a sampling interval. The offset of two
# clocks is bounded from both sides: the sink's go was sent before it was received, and the first
# byte was sent before it was read. The bounds are one round trip apart, as in NTP (RFC 5905,
# section 8).


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


# Counts of the cards of a run, and the queues that received its packets.

Values = dict[str, str | int | None]


def card_columns(outcome: RunOutcome) -> Values:
    queues = _places(outcome.flows, "napi_id")
    return {
        "card_counters": _counters(outcome.flows),
        "receive_cpus": _fewest(outcome.flows, "incoming_cpu"),
        "receive_queues": _fewest(outcome.flows, "napi_id"),
        "streams_per_queue": max((max(queue.values()) for queue in queues), default=None),
    }


def _counters(flows: Iterable[Direction]) -> str | None:
    """Growth by end as JSON; of two results of one card the larger, as their times differ."""
    counters: dict[str, dict[str, int]] = {}
    for number, flow in enumerate(flows):
        # the reverse direction is sent by the receiver's host
        results = (_card_of_all(flow.gens), flow.sink.get("card"))[:: -1 if number else 1]
        for end, grown in zip(("sender", "receiver"), results, strict=True):
            if grown is not None:
                of_end = counters.setdefault(end, {})
                of_end |= {name: max(value, of_end.get(name, 0)) for name, value in grown.items()}
    return json.dumps(counters, sort_keys=True) if counters else None


def _card_of_all(gens: Sequence[EndResult]) -> dict[str, int] | None:
    """Growth of a counter on the cards of all senders."""
    cards = [card for gen in gens if (card := gen.get("card")) is not None]
    names = dict.fromkeys(name for card in cards for name in card)
    return {name: sum(card.get(name, 0) for card in cards) for name in names} if cards else None


def _places(flows: Iterable[Direction], key: Place) -> list[Counter[int]]:
    """For each sink that knows it, the number of streams at each place."""
    sinks = ([stream.get(key) for stream in flow.sink["per_stream"]] for flow in flows)
    counts = (Counter(place for place in places if place is not None) for places in sinks)
    return [counters for counters in counts if counters]


def _fewest(flows: Iterable[Direction], key: Place) -> int | None:
    return min((len(counters) for counters in _places(flows, key)), default=None)


# Machines of a run: which ends share one, and what of netlab runs there beside its agents.
#
# Containers, namespaces and a host with itself are several hosts on one kernel. Counters of CPUs,
# interrupts and the softnet backlog are the kernel's, so that both ends report the same ones.

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Random at each boot, and one for all containers and namespaces of a kernel."""


def one_machine(facts: Mapping[str, Mapping]) -> bool:
    boots = {host.get("boot_id") for host in facts.values()}
    return len(facts) > 1 and len(boots) == 1 and None not in boots


def with_controller(facts: Mapping[str, Mapping]) -> frozenset[str]:
    """Those of the hosts that run on the same kernel as this process."""
    try:
        with open(BOOT_ID, encoding="ascii") as file:
            own = file.read().strip()
    except OSError:
        return frozenset()
    return frozenset(name for name, host in facts.items() if host.get("boot_id") == own)


def controller_processes() -> Counter[tuple[str, int]]:
    """Name and start, in ticks since boot, of this process and of those of netlab it descends from.

    A notebook's kernel is a child of the command that runs it, in the same Python. Start times are
    the same in every PID namespace, process ids are not.
    """
    own: Counter[tuple[str, int]] = Counter()
    pid, python = os.getpid(), _program(os.getpid())
    while python and _program(pid) == python:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                head, _, rest = file.read().rpartition(") ")
        except OSError:
            break
        fields = rest.split()
        own[head.partition("(")[2], int(fields[19])] += 1
        pid = int(fields[1])
    return own


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return ""


# Meanings of the counters of a card (`ethtool -S`), by its driver.
#
# A name alone misleads: `tx_deferred_ok` of igb contains `err` and counts no loss, and ENA's
# `pps_allowance_exceeded` contains no such word. Names are those of Linux 6.12; the sources are
# files of its tree.


LOST_IN = "lost: no free receive buffer, the host is too slow"
LOST_BUFFER = "lost: the card's own buffer was full"
LOST_OUT = "lost before it was sent"
LOST_MEMORY = "lost or delayed: no memory for a buffer"
BAD_FRAME = "lost: damaged frame; look at cable, transceiver and ports"
REFUSED = "lost: longer than the card takes, or with a wrong checksum"
PAUSE = "pause frame: a receiver asks its sender to stop"
STALLED = "the card did not finish a packet in time, and was reset"
LIMITED = "queued or lost: beyond the limit of this kind of virtual machine"

INTEL = (
    (r"rx_missed_errors|rx_no_dma_resources|rx_fifo_errors|rx_over_errors", LOST_BUFFER),
    (r"rx_no_buffer_count|(port\.)?rx_dropped|(port\.)?rx_discards", LOST_IN),
    (r"rx_queue_\d+_drops", LOST_IN),
    (r"(port\.)?rx_(crc|frame|align|length|short_length|long_length)_errors", BAD_FRAME),
    (r"(port\.)?(illegal_bytes|mac_(local|remote)_faults)(\.nic)?", BAD_FRAME),
    (r"(port\.)?tx_dropped(_link_down)?(\.nic)?|tx_errors", LOST_OUT),
    (
        r"rx_(pg_)?alloc_fail(ed)?|alloc_rx_(buff|page)_failed|rx_queue_\d+_alloc_failed",
        LOST_MEMORY,
    ),
    (r"tx_timeout(_count)?(\.nic)?|port\.tx_timeout", STALLED),
    (r"[rt]x_flow_control_xo(n|ff)|(port\.)?link_xo(n|ff)_[rt]x(\.nic)?", PAUSE),
)
"""Of igb, ixgbe, i40e and e1000e: `drivers/net/ethernet/intel/*/*_ethtool.c`."""

COUNTERS: dict[str, tuple[tuple[str, str], ...]] = {
    # drivers/net/ethernet/amazon/ena/ena_ethtool.c and ena_admin_defs.h
    "ena": (
        (r"(bw_in|bw_out|pps|conntrack|linklocal)_allowance_exceeded", LIMITED),
        (r"rx_drops", LOST_IN),
        (r"tx_drops", LOST_OUT),
        (r"queue_\d+_rx_(bad_csum|bad_desc_num|bad_req_id)", BAD_FRAME),
        (r"queue_\d+_rx_(page_alloc_fail|skb_alloc_fail|dma_mapping_err)", LOST_MEMORY),
        (r"tx_timeout", STALLED),
    ),
    # Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst
    "mlx5_core": (
        (r"rx_out_of_buffer|dev_out_of_buffer", LOST_IN),
        (r"rx_discards_phy|rx_prio\d+_discards|rx_prio\d+_buf_discard", LOST_BUFFER),
        (r"outbound_pci_buffer_overflow", LOST_BUFFER),
        (r"tx_discards_phy|tx_errors_phy", LOST_OUT),
        (r"rx_(crc|symbol_err|in_range_len_errors|oversize_pkts|undersize_pkts)\w*_phy", BAD_FRAME),
        (r"rx_(wqe_err|buff_alloc_err|oversize_pkts_buffer|oversize_pkts_sw_drop)", LOST_MEMORY),
        (r"[rt]x_(global_pause|pause_ctrl_phy|prio\d+_pause)", PAUSE),
    ),
    # drivers/net/ethernet/intel/ice/ice_ethtool.c
    "ice": (
        (r"rx_dropped|rx_dropped\.nic|rx_discards(\.nic)?", LOST_IN),
        (r"tx_dropped_link_down\.nic|tx_errors(\.nic)?|tx_dropped", LOST_OUT),
        (r"rx_(crc|length|len|undersize|oversize|fragments|jabber)\w*\.nic", BAD_FRAME),
        (r"(illegal_bytes|mac_local_faults|mac_remote_faults)\.nic", BAD_FRAME),
        (r"rx_(pg_)?alloc_fail", LOST_MEMORY),
        (r"tx_timeout\.nic", STALLED),
        (r"link_xo(n|ff)_[rt]x\.nic|(priority_\d+_)xo(n|ff)_[rt]x\.nic", PAUSE),
    ),
    **dict.fromkeys(("i40e", "ixgbe", "igb", "e1000e"), INTEL),
    # drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c
    "bnxt_en": (
        (r"rx_total_(ring_discards|discard_pkts)", LOST_BUFFER),
        (r"rx_total_(oom|netpoll)_discards|rx_total_buf_errors", LOST_MEMORY),
        (r"tx_total_(ring_discards|discard_pkts)", LOST_OUT),
        (r"rx_(fcs|align|ovrsz|jbr|mtu)_err_frames|rx_stat_err|rx_total_l4_csum_errors", BAD_FRAME),
        (r"rx_stat_discard|rx_discard_(bytes|packets)_cos\d+", LOST_BUFFER),
        (r"[rt]x_(pause|pfc)_frames", PAUSE),
    ),
    # drivers/net/virtio_net.c
    "virtio_net": (
        (r"rx_queue_\d+_drops|rx\d+_drops|rx_drops", LOST_IN),
        (r"tx_queue_\d+_tx_timeouts|tx\d+_tx_timeouts|tx_timeouts", STALLED),
    ),
    # drivers/net/ethernet/google/gve/gve_ethtool.c
    "gve": (
        (r"rx_dropped", LOST_IN),
        (r"rx_queue_drop_cnt\[\d+\]|rx_no_buffers_posted\[\d+\]", LOST_IN),
        (r"rx_drops_(packet_over_mru|invalid_checksum)\[\d+\]", REFUSED),
        (r"tx_dropped", LOST_OUT),
        (r"page_alloc_fail|dma_mapping_error", LOST_MEMORY),
        (r"tx_timeouts", STALLED),
    ),
    # drivers/net/hyperv/netvsc_drv.c
    "hv_netvsc": (
        (r"tx_no_memory|tx_no_space|tx_too_big|vf_tx_dropped", LOST_OUT),
        (r"rx_no_memory", LOST_MEMORY),
    ),
    # drivers/net/veth.c
    "veth": (
        (r"rx_queue_\d+_drops", LOST_IN),
        (r"tx_queue_\d+_xdp_xmit_errors|rx_queue_\d+_xdp_(drops|tx_errors)", LOST_OUT),
    ),
}
"""Counters that matter to a throughput figure, by driver; its other counters count no loss."""

OF_OTHERS = re.compile(
    r"drop|discard|miss|err(?!ed)|fifo|overrun|overflow|crc|no_?buf|no_dma|of_buffer|pause|xon|xoff"
    r"|flow_control|fail|timeout|oob|fcs|abort|allowance|no_mem|no_space|too_big",
    re.IGNORECASE,
)
"""Names of drivers without a table: by their words, as the core takes them."""
BY_NAME = "by its name a loss or a pause; this driver has no table"


def meaning(driver: str | None, counter: str) -> str | None:
    """Meaning of a growing counter; None if it counts no loss, pause or limit."""
    rows = COUNTERS.get(driver or "")
    if rows is None:
        return BY_NAME if OF_OTHERS.search(counter) else None
    return next((text for name, text in rows if re.fullmatch(name, counter)), None)


def losses(driver: str | None, values: Mapping[str, int]) -> dict[str, int]:
    """Counters of lost or limited packets above 0; those of queues summed, `rx_queue_*_drops`."""
    lost: Counter[str] = Counter()
    for name, value in values.items():
        cause = meaning(driver, name)
        # without a table, a counter of a queue may be in a sum, and sending loses little
        unclear = cause == BY_NAME and re.search(r"\d|^tx|pause|xo", name)
        if value and cause and cause != PAUSE and not unclear:
            lost[re.sub(r"(queue_|_prio|_cos|\[|^[rt]x)\d+", r"\1*", name)] += value
    return dict(lost)
