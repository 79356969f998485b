"""Flags of invalid runs."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab.errors import printable
from netlab.files.run_results import (
    Cpu,
    EndResult,
    HostClock,
    InterfaceCounts,
    Meter,
    Others,
    ProbeWay,
    ProcessorTime,
    SentProbes,
)
from netlab.measure.cross import cross_fault
from netlab.measure.exchange import (
    METERS,
    Direction,
    Emulated,
    MeterPart,
    RunOutcome,
    meter_of,
    tcp_of,
)
from netlab.measure.fairness import STALL_S, TIMEOUTS, loaded_rtt_s, starved
from netlab.measure.ledger import controller_processes, crossed, segment_B
from netlab.measure.steadiness import Unsteady, in_window
from netlab.results.flags import Flag
from netlab.study import Noise, Timing
from netlab.units import ETHERNET_HEADER_B

# CPU time that other programs used during a run, and which program used most.

AGENT = "gensink"
"""Names of netlab's processes on a host begin with it, the emulator's as well."""


TICK_US = 10_000
"""Resolution of the CPU time of a process. In a short window a few ticks are several per cent."""


@dataclass(frozen=True)
class ForeignLoad:
    percent: float
    largest: str = ""


def foreign_load(outcome: RunOutcome, emulated: Emulated | None = None) -> ForeignLoad | None:
    """Foreign load of the more loaded host of a run.

    The agents read the CPU time of every process before and after. Counts by clock ticks do not
    serve: they have packet processing apart, so that a run that fills the CPUs hides the work of
    others. Agents of both ends and the controller are netlab's, on whichever machine they are.
    """
    reports: list[Any] = [result.get("others") for _, result in outcome.ends()]
    if None in reports:
        return None
    cpus = [len(meter_of(result, "total").get("cpu") or ()) for _, result in outcome.ends()]
    own = own_processes(reports)
    loads = [load_of(*report, own, emulated) for report in zip(reports, cpus, strict=True)]
    return max(loads, key=lambda load: load.percent)


def own_processes(reports: Iterable[Others]) -> Counter[tuple[str, int]]:
    """Name and start of the agents that made the reports, and of the controller."""
    agents: set[tuple[str, int]] = {(AGENT, others["born_ticks"]) for others in reports}
    return controller_processes() | Counter(agents)


def load_of(
    others: Others, cpus: int, own: Counter[tuple[str, int]], emulated: Emulated | None = None
) -> ForeignLoad:
    us = float(others["cpu_us"] - TICK_US)
    foreign, left = [], Counter(own)
    # Of two programs of one name, born in one tick, the busier one is foreign.
    for process in sorted(others["top"], key=lambda process: process["cpu_us"]):
        is_agent = process["name"].startswith(AGENT)
        key = (AGENT if is_agent else process["name"], process["born_ticks"])
        if left[key] > 0:
            us -= process["cpu_us"]
            left[key] -= not is_agent  # agents of several hosts of one machine
        elif emulated is None or not is_agent:
            foreign.append(process)
    if emulated is not None:
        us -= emulated.cpu_us(others["t0_ns"], others["t1_ns"])
    span_us = (others["t1_ns"] - others["t0_ns"]) / 1e3
    if us <= 0 or span_us <= 0 or not cpus:
        return ForeignLoad(0.0)
    largest = foreign[-1] if foreign else None
    return ForeignLoad(
        # many processes, each rounded to a tick, may be more than the CPUs had in a short window
        min(100.0, 100 * us / (cpus * span_us)),
        f"{printable(largest['name'])} (process {largest['pid']})" if largest else "",
    )


# Traffic of others on the interfaces of a run: what they carried beyond the run's own segments.
#
# TCP counts the payload and the segments that each socket sent, retransmissions included. With the
# largest header that a segment can have, that bounds what the run can have put on either interface;
# a surplus is foreign. Of UDP and of other tools, what arrived and the other end did not send is.
# A count below the payload is a matter of the ledger.

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


# Most goodput that a window can show: the ceiling, and what arrived earlier and was read in it.
#
# The sink counts bytes when they are read. At the start of the window some have arrived and are not
# read yet, so that a short window shows more than the path carried in it:
#
# * the reader waits for a CPU, and on an emulated path so does the emulator, which then delivers a
#   burst; both together for some milliseconds;
# * after a loss TCP delivers nothing until the missing segment is there. What arrived meanwhile, a
#   round trip and the time in the queue before the bottleneck, is then read at once.
#
# Both are times at the ceiling's rate; their share of the window is the tolerance.

BASE_PERCENT = 1.0
"""Errors of the clocks, of headers and of the token bucket of a link."""

READ_LATE_S = 0.004
"""Wait of a reader for a CPU: a time slice of the scheduler."""

BURST_B = 65_536
"""Largest unit that the kernel passes on at once."""


@dataclass(frozen=True)
class Most:
    percent: float
    late_s: float
    held_s: float


def most_percent(row: dict) -> Most:
    window_s = row.get("window_s")
    if not window_s:
        return Most(100 + BASE_PERCENT, 0.0, 0.0)
    ceiling_Bps = 1e6 * (row.get("ceiling_MBps") or 0.0)
    late_s = READ_LATE_S + (row.get("emulator_late_us") or 0.0) / 1e6
    if ceiling_Bps:
        late_s += max(BURST_B, row.get("burst_B") or 0) / ceiling_Bps
    held_s = 0.0 if row.get("retransmits") == 0 else _held_s(row, ceiling_Bps)
    percent = 100 + BASE_PERCENT + 100 * (late_s + held_s) / window_s
    return Most(percent, late_s, held_s)


def _held_s(row: dict, ceiling_Bps: float) -> float:
    """Time of a recovery, as far as the receive buffers hold what arrives meanwhile."""
    recovery_s = loaded_rtt_s(row)
    buffers_B = (row.get("rcvbuf_B") or 0.0) * (row.get("streams") or 1)
    bounded = ceiling_Bps and buffers_B
    return min(recovery_s, buffers_B / ceiling_Bps) if bounded else recovery_s


DEFAULT_NOISE = Noise()
"""Of all cores, in the window: above it, other processes affect the figure."""

DRIFT_PPM = 1000.0
"""Twice the maximum slew of NTP (500): above it, the clock is not reliable."""

LATE_CLOSE = "sink: the streams ended before the window did"
"""Reason of a run whose sink got no CPU until its sender had stopped, 60 ms after the window."""

LATE_WATCH = "watch thread was late by"
LATE_WATCH_S = 0.05
"""A sender goes on for 60 ms after the window: a later sink may miss its end."""

EMULATOR_LATE_US = 1000.0
EMULATOR_LATE_SHARE_OF_RTT = 0.005
"""Tolerance of the round trip, the larger of the two. More than one late write in 100 breaks it;
occasional scheduling pauses of some ms delay fewer. A slow run has few writes, and chance alone
makes two in 100 of them late: their number must be beyond that."""

EMULATOR_WAITED_PERCENT = 5.0
"""An emulator that waited for a CPU longer than this share of the run lacked CPU time."""


def flags_of(
    row: dict,
    outcome: RunOutcome,
    ledger_problems: list[str],
    drift: list[str],
    intervals: Sequence[Mapping],
    timing: Timing,
    emulated: Emulated | None = None,
    noise: Noise = DEFAULT_NOISE,
    largest: str = "",
    surplus: Sequence[str] = (),
    step: Unsteady | None = None,
) -> dict[Flag, str]:
    """Flags of a run, each with its reason in one sentence; empty when the run is valid."""
    flags: dict[Flag, str] = {}
    for name, result in outcome.ends():
        if result.get("status") != "ok":
            flags[Flag.FAILED] = f"{name}: {result.get('message') or result.get('status')}"
    if Flag.FAILED not in flags and (fault := cross_fault(outcome)):
        flags[Flag.FAILED] = fault
    late = _late_watch(outcome)
    if late and Flag.FAILED in flags:
        flags[Flag.FAILED] += f", {late}"
    missing_B = (row.get("sent_B") or 0) - (row.get("received_B") or 0)
    if missing_B > 0 and any(flow.sink.get("status") == "timeout" for flow in outcome.flows):
        advice = "give them more time, timing.drain_s"
        if emulated is not None and emulated.has_bursts:
            advice = (
                "a burst of losses ends with packets, not with time, and dropped each retry; "
                "lower loss_in_burst, or shorten loss_burst_packets"
            )
        flags[Flag.FAILED] += f", {missing_B} B had not arrived: {advice}"
    stall = _stall(intervals, STALL_S + loaded_rtt_s(row))
    window_s, timed = row["window_s"], row.get("records") is None
    if stall:
        flags[Flag.STALLED] = stall
    elif window_s is None or (timed and window_s < 0.9 * timing.seconds):
        flags[Flag.STALLED] = "the streams ended before the window did"
    if unfair := starved(row, outcome.flows, outcome.together_s):
        flags[Flag.STARVED] = unfair
    percent = row["percent_of_ceiling"]
    most = most_percent(row)
    if percent is not None and percent > most.percent:
        flags[Flag.IMPLAUSIBLE] = (
            f"{percent:.1f} % of the {row['ceiling_kind']} ceiling, where its window and queue "
            f"allow {most.percent:.1f} %"
        )
    if ledger_problems:
        flags[Flag.LEDGER_MISMATCH] = "; ".join(ledger_problems)
    disturbed = [interference(row, noise, largest), *surplus]
    if any(disturbed):
        flags[Flag.INTERFERENCE] = ", ".join(filter(None, disturbed))
    elif step:  # a load on a host explains a step, and the run is measured again
        flags[Flag.UNSTEADY] = f"{step.direction}: {step.step.text()}"
    if drift:
        flags[Flag.TUNING_DRIFT] = "; ".join(drift)
    meters = [
        (name, meter)
        for name, result in outcome.ends()
        for part in METERS
        if (meter := meter_of(result, part))
    ]
    if reset := sorted(set(filter(None, itertools.starmap(_reset, meters)))):
        flags[Flag.COUNTER_RESET] = "; ".join(reset)
    if stepped := sorted(set(filter(None, itertools.starmap(_stepped, meters)))):
        flags[Flag.CLOCK_STEP] = "; ".join(stepped)
    if emulated is not None and (fault := _emulator_fault(emulated)):
        flags[Flag.EMULATOR_LATE] = fault
    return flags


def interference(row: dict, noise: Noise = DEFAULT_NOISE, largest: str = "") -> str | None:
    """Describe steal, foreign load, foreign traffic and throttling above the limits, if any."""
    reasons = []
    if (row["steal_percent"] or 0) > noise.steal_percent:
        reasons.append(f"steal {row['steal_percent']:.1f} %")
    if (row["foreign_cpu_percent"] or 0) > noise.foreign_cpu_percent:
        mostly = f", most of it by {largest}" if largest else ""
        reasons.append(f"foreign CPU load {row['foreign_cpu_percent']:.1f} %{mostly}")
    if (row.get("foreign_traffic_percent") or 0) > noise.foreign_traffic_percent:
        share = row["foreign_traffic_percent"]
        reasons.append(f"foreign traffic on an interface, {share:.1f} % of the run's own")
    if row.get("throttle_events"):
        reasons.append(f"thermal throttling of a CPU, {row['throttle_events']} events")
    change = row.get("cpu_frequency_percent")
    if change is not None and -change > noise.frequency_drop_percent:
        reasons.append(f"the frequency of a busy CPU changed by {change:+.1f} % within the window")
    return ", ".join(reasons) or None


def _emulator_fault(emulated: Emulated) -> str | None:
    late_us = emulated.surely_late_us
    bound_us = max(EMULATOR_LATE_US, EMULATOR_LATE_SHARE_OF_RTT * emulated.rtt_us)
    faults = []
    if late_us is not None and late_us > bound_us:
        faults.append(f"more than one write in 100 was over {bound_us:g} us late")
    if emulated.waited_percent > EMULATOR_WAITED_PERCENT:
        faults.append(f"it waited for a CPU {emulated.waited_percent:.1f} % of the run")
    lost = emulated.dropped("memory")
    if lost:
        faults.append(f"it had no memory for {lost} packets")
    return "the emulator: " + ", ".join(faults) if faults else None


def _reset(name: str, meter: Meter) -> str | None:
    interface = meter.get("interface") or InterfaceCounts()
    if not interface.get("reset"):
        return None
    return f"{name}: the counters of {interface['name']} went back, or it was replaced"


def _stepped(name: str, meter: Meter) -> str | None:
    clock = meter.get("clock") or HostClock()
    if clock.get("steps"):
        return f"{name}: the clock was set by {clock['step_ns'] / 1e9:+.3f} s"
    duration_ns = meter.get("t1_ns", 0) - meter.get("t0_ns", 0)
    if duration_ns <= 0 or not clock:
        return None
    if abs(clock["drift_ns"]) - clock["unsure_ns"] <= DRIFT_PPM * 1e-6 * duration_ns:
        return None
    ppm = clock["drift_ns"] / duration_ns * 1e6
    return f"{name}: CLOCK_MONOTONIC ran {ppm:+.0f} ppm off CLOCK_MONOTONIC_RAW"


def _late_watch(outcome: RunOutcome) -> str:
    late_s: dict[str, float] = {}
    for name, result in outcome.ends():
        late_s[name] = max(late_s.get(name, 0.0), (result.get("watch_late_us") or 0) / 1e6)
    late = [name for name in late_s if late_s[name] > LATE_WATCH_S]
    return ", ".join(f"the {name}'s {LATE_WATCH} {late_s[name]:.2f} s" for name in late)


TIMEOUT_SHARE = 0.6
"""Share of a stall's limit that a timeout seems to last: the intervals at its ends have bytes."""

PACED_BY_TIMEOUTS = 4
"""Fewest silences of a window that timeouts pace."""


def _stall(intervals: Sequence[Mapping], limit_s: float) -> str | None:
    """Describe the longest silence within the window; None if it is below the limit.

    A path that drops whole bursts, as a policer does, makes TCP wait for its timeout again and
    again: silences of its pace are no stall, as long as a lost retransmission explains them.
    """
    for part in intervals:
        silences_s = [0.0]
        for moved_B, length_s in zip(*in_window(part), strict=True):
            if moved_B:
                silences_s.append(0.0)
            else:
                silences_s[-1] += length_s
        waits = sum(silent_s >= TIMEOUT_SHARE * limit_s for silent_s in silences_s)
        allowed_s = limit_s * (TIMEOUTS if waits >= PACED_BY_TIMEOUTS else 1)
        if (longest_s := max(silences_s)) >= allowed_s:
            return f"{part['direction']}: no byte for {longest_s:.2f} s"
    return None


# Thermal throttling and changes of the CPU's frequency during a run, where hosts report them.

BUSY_SHARE = 0.8
"""Least busy share of a CPU in the window: an idle one lowers its frequency without harm."""

IDLE: tuple[ProcessorTime, ...] = ("idle_us", "iowait_us")
SPENT: tuple[ProcessorTime, ...] = (
    *("user_us", "nice_us", "system_us", "irq_us", "softirq_us", "steal_us"),
    *IDLE,
)


def throttling(outcome: RunOutcome) -> dict[str, int | float | None]:
    """Columns: events of throttling, and the largest drop of the frequency of a busy CPU."""
    whole = [cpu.get("throttled") for cpu in _cpus(outcome, "total")]
    changes = [
        100 * (last_kHz / first_kHz - 1)
        for cpu in _cpus(outcome, "window")
        if (last_kHz := cpu.get("frequency_kHz"))
        and (first_kHz := cpu.get("first_frequency_kHz"))
        and _busy(cpu)
    ]
    return {
        "throttle_events": max((count for count in whole if count is not None), default=None),
        "cpu_frequency_percent": min(changes, default=None),
    }


def _cpus(outcome: RunOutcome, part: MeterPart) -> Iterator[Cpu]:
    for _, result in outcome.ends():
        yield from meter_of(result, part).get("cpu") or ()


def _busy(cpu: Cpu) -> bool:
    spent_us = sum(cpu.get(name) or 0 for name in SPENT)
    idle_us = sum(cpu.get(name) or 0 for name in IDLE)
    return spent_us > 0 and (spent_us - idle_us) / spent_us >= BUSY_SHARE
