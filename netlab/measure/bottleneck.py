"""Bottleneck of a run: one word from the fields of its record, and the evidence in numbers.

The rules apply in a fixed order; the first one that holds decides:

1. ``bus``, ``link`` or ``one slave of the bond``, which all streams of a run take: goodput equals
   the payload that the slowest of them carries; of two links in a row, of which flows pass one
   alone, the payload of both. A full pipe also drops packets and fills windows, so this rule comes
   first.
2. ``pacing``: goodput equals the configured pacing rate of the senders.
3. ``slow start``: the congestion window doubled within the window, without a loss and in few round
   trips, and the rate with it: the run is too short for its path.
4. ``CPU``: one core was busy all the time, with the run's own work. This precedes the window rule:
   a receiver out of CPU reads late and closes its window, and queues in front of a busy core
   stretch the RTT from which the window bound is computed.
5. ``slow receiver``: the receiver advertised hardly any window for most of the time. Its buffer was
   full of bytes that the program had not read; a buffer that is too small for the path stays empty,
   and its window open. ``slow sender``: the sender had nothing to send for most of the time.
   Neither holds if other programs filled a core and the program waited for a CPU.
6. ``window`` or ``send buffer``: the kernel counted the limited time, or the bytes in flight
   (goodput times RTT, Little's law) fill the smaller socket buffer. Where the study asked for that
   buffer and the kernel granted it, the verdict is ``window, asked for by the study``.
7. ``shaped link``: packets queued, though no link of that rate is known: a shaper on the path,
   whose rate nobody stated. Either the rate hardly varied, or the queue was so long that a window
   cut by a loss does not empty it; its overflows stall the reader, and its rate varies.
8. ``policer``: far more segments were lost than random loss leaves of this rate, and none queued:
   all that exceeds a rate is dropped at once.
9. ``loss``: segments were retransmitted as often as the window law needs for this rate, or
   datagrams lost, and no rule above explains the rate.
10. ``foreign CPU``: one core was busy all the time, mostly with other programs, or with these for
    a third of the time while a program of the run waited for a CPU. It precedes rules 8
    and 9 if a program waited for most of the run, and rules 6 and 7 too unless the bytes in
    flight fill a buffer or a long queue.
11. ``unknown``: none of these, or the fields are missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from netlab.measure.cross import cross_frames_MBps
from netlab.study.groups import sends_datagrams
from netlab.units import HEADERS_B, datagram_share, payload_share

ASKED = "window, asked for by the study"
SLAVE = "one slave of the bond"
ONE_SLAVE = "one slave of"
"""First words of a ceiling's source where all streams take one slave of a bond or team."""

SLOW_START, SHAPED, POLICER = "slow start", "shaped link", "policer"
RECEIVER, SENDER = "slow receiver", "slow sender"
VERDICTS = (
    *("bus", "link", SLAVE, "pacing", SLOW_START, "window", ASKED, "send buffer", "CPU"),
    *(RECEIVER, SENDER, SHAPED, POLICER, "loss", "foreign CPU", "unknown"),
)

ENDS = ("sender", "receiver")

NEAR_CEILING = 0.95
"""Share of the payload that the ceiling carries. A token bucket that refills in ticks and the ramp
at the window's edges cost up to 5 %; other bottlenecks seldom come this close by chance."""

NEAR_PACING = 0.95
"""Share of the pacing rate. The kernel paces within 0.1 % on an idle machine, and compensates only
partly for a pause of a sender."""

BUSY_CORE_PERCENT = 95.0
"""A core above this is saturated. The counters tick in 10 ms, 1 % of a one-second window, and a
saturated core still idles while it waits for locks and wake-ups."""

LIMITED_SHARE = 0.5
"""Least share of the busy time that the kernel counted as limited, for a verdict on it; likewise of
the window in which a program sent too slowly."""

CLOSED_SHARE = 0.3
"""Least share of the window in which a program that reads too slowly had closed the peer's:
measured 0.38 to 0.68 where it was stopped for 90 % of the time, and 0 in all runs that buffers,
links, losses or pacing limited."""

OFTEN_CLOSED = 0.1
"""Share of the window from which a reader without a CPU, and not a small buffer, closed a window:
measured 0 with buffers of 128 KiB beside other programs, 0.2 to 0.6 where these had the CPUs."""

WAITED_PART = 0.3
"""Part of the time of a slow program that a wait for a CPU may be: above it, others had the CPU."""

WINDOW_FULL = 0.4
"""Bytes in flight over the smaller socket buffer. Linux reports twice the requested buffer and uses
about half of it for bookkeeping, so 0.5 is a full window; 0.4 is 80 % of that."""

QUEUEING_RATIO = 3.0
"""Smoothed over least RTT. Below it the RTT is the path's, with its interrupt deferral; above it
packets queue somewhere, and a full window only means that the queue is fed."""

FOREIGN_SHARE = 0.5
"""Share of a machine's busy time from which other programs, and not the run, filled a core."""

FOREIGN_SHARE_WAITED, WAITED_SHARE = 0.3, 0.3
"""The same where a program of the run waited for a CPU for that part of the window: measured 0.38
where other programs, two a CPU, had 0.497 of the busy time."""

SLOW_START_GROWTH, SLOW_START_RTTS = 2.0, 20.0
"""Growth of the congestion window, and most round trips of a window, of a run in slow start. CPU
and socket buffers stop the growth, as the kernel widens a window only while it is in use."""

SHAPED_VARIATION_PERCENT = 3.0
"""An empty token bucket holds ten parts of a window within this: measured 0.8 to 2.4 % on a machine
under load, 23 % and more of a path that drops at random."""

SHAPED_QUEUE_RATIO, SHAPED_QUEUE_US = 1.1, 500.0
"""RTT over the least one, and above it, of a queue before a shaper; interrupts make less."""

STANDING_QUEUE_RATIO, STANDING_QUEUE_US = 2.0, 5_000.0
"""RTT over that of the empty path, and above it, of a queue before a link that never idles: half of
a window of two round trips still fills the path. The empty path has the least RTT, or the mean of
pings before the block if that is longer: jitter does not fill a queue."""

FAST_RETRANSMIT_SEGMENTS = 4.0
"""Fewer in flight recover from a loss by a timeout, which the round trips measured then include."""

BUSY_HOST_QUEUE_US = 20_000.0
"""The same beside other programs that fill a core, which delay packets themselves: measured up to
5.4 ms, with 128 streams."""

OWN_BUSY_PERCENT = 80.0
"""A core above it, busy with the run, may have paced the run itself."""

LOST_SHARE = 1e-3
"""Share of the segments that always counts as loss; less does by the window law."""

POLICED_LOSS, POLICED_VARIATION_PERCENT = 200.0, 60.0
"""Lost share over the one that this rate allows if each segment is lost by itself, and most
variation of the rate. A policer drops all that is above its rate at once: measured 540 to 65,000 at
20 and 40 ms, 0.3 to 70 where segments are lost at random or before a short queue. There a burst of
slow start added up to 485, in runs whose rate varied by 80 % and more."""

LAW_ABIDING = frozenset({"reno", "cubic"})
"""Congestion controls whose rate follows from random loss by that law."""

LAW_SEGMENTS, LAW_MARGIN = math.sqrt(1.5), 0.5
"""Mean window at a loss share p: sqrt(1.5 / p) segments (Mathis et al., 1997). Loss explains a rate
of half of that window and more: losses in bursts cost less, timeouts more than single ones."""


NUMBERS = (
    *("goodput_MBps", "goodput_forward_MBps", "goodput_reverse_MBps", "pacing_MBps"),
    *("bus_MBps", "bus_shared", "link_MBps", "mtu_B", "mss_B", "record_length_B", "streams"),
    *("cross_goodput_MBps", "cross_udp_B"),
    *("rtt_us", "min_rtt_us", "ping_avg_ms", "sent_B", "retransmits", "lost_percent", "window_s"),
    *("sndbuf_B", "rcvbuf_B", "buffer_B", "receive_buffer_B"),
    *("cwnd_segments", "cwnd_t0_segments", "rate_variation_percent"),
    *("rwnd_limited_share", "sndbuf_limited_share", "interface_drops", "softnet_drops"),
    *("idle_share", "closed_share", "sender_waited_share", "receiver_waited_share"),
    *("busiest_core_percent", "foreign_cpu_percent"),
    *(f"{end}_{of}_percent" for end in ENDS for of in ("cpu", "softirq")),
)
TEXTS = ("direction", "ceiling_source", "generator", "congestion_in_force")
"""Columns of a record that a verdict depends on."""


@dataclass(frozen=True)
class Evidence:
    """Numbers behind a verdict; NaN where a record lacks them."""

    payload_ceiling_MBps: float
    ceiling_kind: str
    ceiling_share: float
    pacing_MBps: float
    pacing_share: float
    window_bound_MBps: float
    window_fill: float
    sender_smaller: bool
    rtt_ratio: float
    lost_share: float
    rwnd_limited_share: float
    sndbuf_limited_share: float
    idle_share: float
    closed_share: float
    sender_waited_share: float
    receiver_waited_share: float
    rtt_us: float
    empty_us: float
    """RTT of the path without the run's load; NaN where the least one is unknown."""
    window_segments: float
    """Segments in flight on each stream, by Little's law; NaN of datagrams."""
    law_share: float
    """Least loss that explains the rate by the window law; NaN of datagrams."""
    random_share: float
    """Most random loss that this rate allows by the window law; NaN of other stacks."""
    growth: float
    """Congestion window at the end over that at the window's start."""
    window_rtts: float
    variation_percent: float
    queue_us: float
    frames_Mbps: float
    """Goodput with headers, of one direction."""
    busiest_core_percent: float
    foreign_share: float
    softirq_percent: float
    drops: float


def _number(row: Mapping, name: str) -> float:
    try:
        return float(row.get(name))  # type: ignore[arg-type]
    except TypeError:  # None, or NA of a frame
        return math.nan


def _of_known(fold: Callable, *values: float) -> float:
    return fold((value for value in values if not math.isnan(value)), default=math.nan)


def evidence(row: Mapping) -> Evidence:
    goodput = _number(row, "goodput_MBps")
    both = row.get("direction") == "<->"
    bus, link = _number(row, "bus_MBps"), _number(row, "link_MBps") * (2 if both else 1)
    of_cross = (_number(row, name) for name in ("cross_goodput_MBps", "cross_udp_B", "mtu_B"))
    link -= cross_frames_MBps(*of_cross)
    raw = _of_known(min, bus, link)
    kind = "" if math.isnan(raw) else ("bus" if raw == bus else "link")
    mtu_B, mss_B = _number(row, "mtu_B"), _number(row, "mss_B")
    if math.isnan(mss_B):
        mss_B = mtu_B - HEADERS_B
    if kind == "link" and str(row.get("ceiling_source")).startswith(ONE_SLAVE):
        kind = SLAVE
    share_of_frames = payload_share(mtu_B, mss_B)
    of_udp = sends_datagrams(str(row.get("generator")))
    if of_udp:
        share_of_frames = datagram_share(mtu_B, _number(row, "record_length_B"))
    payload = raw * share_of_frames
    share = goodput / payload if payload > 0 else math.nan
    # on PCI and PCI-X both directions share the bus
    own_each_way = kind in ("link", SLAVE) or _number(row, "bus_shared") == 0
    if both and payload > 0 and own_each_way:
        forward, reverse = (_number(row, f"goodput_{d}_MBps") for d in ("forward", "reverse"))
        share = _of_known(max, forward, reverse) / (payload / 2)

    streams = _number(row, "streams") * (2 if both else 1)
    rtt_s = _number(row, "rtt_us") / 1e6
    buffer_B = _of_known(min, _number(row, "sndbuf_B"), _number(row, "rcvbuf_B"))
    bound = buffer_B / rtt_s * streams / 1e6 if rtt_s > 0 else math.nan
    pacing = _number(row, "pacing_MBps")
    least_us, sent_B = _number(row, "min_rtt_us"), _number(row, "sent_B")
    window = goodput * 1e6 * rtt_s / (streams * mss_B) if streams * mss_B > 0 else math.nan
    window = math.nan if of_udp else window
    law = (LAW_MARGIN * LAW_SEGMENTS / window) ** 2 if window > 0 else math.nan
    stacks = {*str(row.get("congestion_in_force")).split("+")}
    abides = stacks <= LAW_ABIDING
    grown_segments, first_segments = (_number(row, f"cwnd_{at}segments") for at in ("", "t0_"))
    cpu_percent = _of_known(max, *(_number(row, f"{end}_cpu_percent") for end in ENDS))
    foreign = _number(row, "foreign_cpu_percent")
    softirq = (_number(row, f"{end}_softirq_percent") for end in ENDS)
    return Evidence(
        payload_ceiling_MBps=payload,
        ceiling_kind=kind,
        ceiling_share=share,
        pacing_MBps=pacing,
        pacing_share=goodput / pacing if pacing > 0 else math.nan,
        window_bound_MBps=bound,
        window_fill=goodput / bound if bound > 0 else math.nan,
        sender_smaller=_number(row, "sndbuf_B") < _number(row, "rcvbuf_B"),
        rtt_ratio=rtt_s * 1e6 / least_us if least_us > 0 else math.nan,
        lost_share=_number(row, "lost_percent") / 100
        if of_udp
        else (_number(row, "retransmits") * mss_B / sent_B if sent_B > 0 else math.nan),
        rwnd_limited_share=_number(row, "rwnd_limited_share"),
        sndbuf_limited_share=_number(row, "sndbuf_limited_share"),
        idle_share=_number(row, "idle_share"),
        closed_share=_number(row, "closed_share"),
        sender_waited_share=_number(row, "sender_waited_share"),
        receiver_waited_share=_number(row, "receiver_waited_share"),
        rtt_us=rtt_s * 1e6,
        empty_us=_of_known(max, least_us, 1e3 * _number(row, "ping_avg_ms"))
        if least_us > 0
        else math.nan,
        window_segments=window,
        law_share=law,
        random_share=law / LAW_MARGIN**2 if abides else math.nan,
        growth=grown_segments / first_segments if first_segments > 0 else math.nan,
        window_rtts=_number(row, "window_s") / rtt_s if rtt_s > 0 else math.nan,
        variation_percent=_number(row, "rate_variation_percent"),
        queue_us=rtt_s * 1e6 - least_us,
        frames_Mbps=8 * goodput / share_of_frames if share_of_frames and not both else math.nan,
        busiest_core_percent=_number(row, "busiest_core_percent"),
        foreign_share=foreign / cpu_percent if cpu_percent > 0 else math.nan,
        softirq_percent=_of_known(max, *softirq),
        drops=_number(row, "interface_drops") + _number(row, "softnet_drops"),
    )


def _verdict(seen: Evidence, goodput: float) -> str:
    full, busy = seen.window_fill >= WINDOW_FULL, seen.busiest_core_percent >= BUSY_CORE_PERCENT
    waited = _of_known(max, seen.sender_waited_share, seen.receiver_waited_share)
    least = FOREIGN_SHARE_WAITED if waited >= WAITED_SHARE else FOREIGN_SHARE
    foreign = busy and seen.foreign_share >= least
    starved = foreign and waited >= LIMITED_SHARE
    # min() takes the first of two values if the second one is NaN
    lost = seen.lost_share >= min(LOST_SHARE, seen.law_share)
    buffer = "send buffer" if seen.sender_smaller else "window"
    own_core = _is_own_core(seen)
    queued = _has_standing_queue(seen, BUSY_HOST_QUEUE_US if foreign else STANDING_QUEUE_US)

    late = foreign and seen.closed_share >= OFTEN_CLOSED

    def is_slow(share: float, least: float, waited_share: float) -> bool:
        others = foreign and not waited_share < WAITED_PART * share
        return share >= least and not others

    # all of a small send buffer may be in flight, so that nothing waits in it to be sent
    in_flight = full and seen.sender_smaller
    slow_sender = is_slow(seen.idle_share, LIMITED_SHARE, seen.sender_waited_share)
    rules = (
        ("unknown", math.isnan(goodput)),
        (seen.ceiling_kind, seen.ceiling_share >= NEAR_CEILING),
        ("pacing", seen.pacing_share >= NEAR_PACING),
        (SLOW_START, _in_slow_start(seen)),
        ("CPU", busy and not foreign),
        (RECEIVER, is_slow(seen.closed_share, CLOSED_SHARE, seen.receiver_waited_share)),
        (SENDER, slow_sender and not own_core and not in_flight),
        ("foreign CPU", starved and not full and not queued),
        ("send buffer", seen.sndbuf_limited_share >= LIMITED_SHARE),
        ("window", seen.rwnd_limited_share >= LIMITED_SHARE and not late),
        (buffer, full and not seen.rtt_ratio > QUEUEING_RATIO),
        (SHAPED, _is_shaped(seen) or queued),
        ("foreign CPU", starved),
        (POLICER, _is_policed(seen)),
        ("loss", lost),
        (buffer, full),
        ("foreign CPU", foreign),
    )
    return next((verdict for verdict, holds in rules if holds), "unknown")


def _in_slow_start(seen: Evidence) -> bool:
    few = seen.window_rtts <= SLOW_START_RTTS
    # a window that grows with its round trip fills a queue, at the same rate
    grew = seen.growth >= SLOW_START_GROWTH * _of_known(max, 1.0, seen.rtt_ratio)
    return few and grew and seen.lost_share == 0 and not _is_steady(seen)


def _is_steady(seen: Evidence) -> bool:
    return seen.variation_percent <= SHAPED_VARIATION_PERCENT


def _is_queued(seen: Evidence) -> bool:
    return seen.rtt_ratio >= SHAPED_QUEUE_RATIO and seen.queue_us >= SHAPED_QUEUE_US


def _is_policed(seen: Evidence) -> bool:
    at_once = seen.lost_share >= max(LOST_SHARE, POLICED_LOSS * seen.random_share)
    known = not math.isnan(seen.rtt_ratio + seen.random_share)
    steady = seen.variation_percent <= POLICED_VARIATION_PERCENT
    return at_once and known and steady and not _is_queued(seen) and not _is_own_core(seen)


def _is_own_core(seen: Evidence) -> bool:
    """True if a core was so busy with the run that it may have paced it."""
    return seen.busiest_core_percent >= OWN_BUSY_PERCENT and not seen.foreign_share >= FOREIGN_SHARE


def _is_shaped(seen: Evidence) -> bool:
    return (
        _is_steady(seen)
        and _is_queued(seen)
        and not _is_own_core(seen)
        and not math.isnan(seen.frames_Mbps)
    )


def _has_standing_queue(seen: Evidence, least_us: float) -> bool:
    added_us = seen.rtt_us - seen.empty_us
    stands = seen.rtt_us >= STANDING_QUEUE_RATIO * seen.empty_us and added_us >= least_us
    stands = stands and seen.window_segments >= FAST_RETRANSMIT_SEGMENTS
    return stands and not _is_own_core(seen) and not math.isnan(seen.frames_Mbps)


def _granted(row: Mapping, seen: Evidence) -> bool:
    """True if the buffer that limits a run is the one that the study asked for."""
    sender_B = _number(row, "buffer_B")
    receiver_B = _number(row, "receive_buffer_B")
    receiver_B = sender_B if math.isnan(receiver_B) else receiver_B
    sndbuf_B, rcvbuf_B = _number(row, "sndbuf_B"), _number(row, "rcvbuf_B")
    at_sender = not sndbuf_B > rcvbuf_B
    if seen.sndbuf_limited_share >= LIMITED_SHARE:
        at_sender = True
    elif seen.rwnd_limited_share >= LIMITED_SHARE:
        at_sender = False
    asked_B, effective_B = (sender_B, sndbuf_B) if at_sender else (receiver_B, rcvbuf_B)
    # Linux reports twice the size that it grants; less is a limit of the host or its tuning
    return asked_B > 0 and not effective_B < 2 * asked_B


def bottleneck(row: Mapping) -> str:
    """Name the bottleneck of a run: one of :data:`VERDICTS`."""
    seen = evidence(row)
    verdict = _verdict(seen, _number(row, "goodput_MBps"))
    return ASKED if verdict in ("window", "send buffer") and _granted(row, seen) else verdict
