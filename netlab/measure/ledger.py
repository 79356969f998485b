"""The ledger: counts of a run's bytes at every place they passed, which must agree.

Exact counts (what send() took, what the sink read, the sum of the intervals) must be equal.
TCP's own counts also hold the hello of each stream and the sequence numbers of SYN and FIN.
Interface counts also hold headers, acknowledgements and whatever else used the interface.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from netlab.errors import RunError
from netlab.measure.exchange import Direction, RunOutcome, meter_of
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
    error_B: int | None = 0
    problems: list[str] = field(default_factory=list)
    surplus: list[str] = field(default_factory=list)
    header_share: float | None = None


def audit(flows: list[tuple[dict, dict]], *, mtu_B: int, both: bool) -> Ledger:
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
    for what, side, key in (
        ("acknowledged", gen, "bytes_acked"),
        ("received", sink, "bytes_received"),
    ):
        for stream in side["per_stream"]:
            count = (stream.get("tcp") or {}).get(key)
            if count is None:
                continue
            over = count - stream["bytes"] - HELLO_B
            if not 0 <= over <= SEQUENCE_SLACK_B:
                ledger.error_B = max(ledger.error_B, abs(over))
                ledger.problems.append(
                    f"{name}: stream {stream['stream']} carried {stream['bytes']} B, but TCP "
                    f"{what} {count} B"
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
                problems = ledger.problems if seen < least else ledger.surplus
                problems.append(
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
    wraps = -(-(payload - seen) // WRAP_B)
    # the bounds of a long run are so wide that some number of wraps always fits
    if wraps > 0 and seen + wraps * WRAP_B <= most and most - payload < WRAP_B / 4:
        times = "once" if wraps == 1 else f"{wraps} times"
        return f"a 32-bit counter that wrapped unseen {times} would explain it"
    return "foreign traffic, or a counter that lies" if seen > most else "a counter that lies"


def _counted(result: dict, name: str) -> int | None:
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


def transfer_of(gen: dict, sink: dict, *, one_clock: bool) -> Transfer:
    for name, result in (("sender", gen), ("sink", sink)):
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
        ahead_ns, error_ns = 0, 0
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
        results = (flow.gen, flow.sink)[:: -1 if number else 1]
        for end, result in zip(("sender", "receiver"), results, strict=True):
            if (grown := result.get("card")) is not None:
                of_end = counters.setdefault(end, {})
                of_end |= {name: max(value, of_end.get(name, 0)) for name, value in grown.items()}
    return json.dumps(counters, sort_keys=True) if counters else None


def _places(flows: Iterable[Direction], key: str) -> list[Counter[int]]:
    """For each sink that knows it, the number of streams at each place."""
    sinks = ([stream.get(key) for stream in flow.sink["per_stream"]] for flow in flows)
    counts = (Counter(place for place in places if place is not None) for places in sinks)
    return [counters for counters in counts if counters]


def _fewest(flows: Iterable[Direction], key: str) -> int | None:
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
