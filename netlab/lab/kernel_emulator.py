"""An emulated path by the kernel: netem for what happens on the way, tbf for the rate.

On what each end of a veth pair sends::

    netem (loss, delay)  ->  tbf (rate)  ->  its queue, in bytes or in packets

A packet here is one as on the wire, because TCP is set to pass down every segment by itself and
the pair to leave them apart. What netem does not mean as a study does is left to netlab's own
emulator unless a study says ``with: netem``: netem's jitter does not keep the order, and a packet
that it reorders is sent at once, not later. Such a packet also passes tbf by, so netem cannot
reorder on a path with a rate.

The token bucket lets one frame and 4 ms of the rate pass before anything waits in the queue.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, Self

from netlab.errors import Unsupported
from netlab.lab import rootless
from netlab.lab.link import QUEUE_LIMIT_B, SMOOTH_S, LinkSettings, bucket_B
from netlab.lab.namespaces import tool
from netlab.study import Emulator, LabLink
from netlab.units import ETHERNET_HEADER_B

ASSUMED_BPS = 10_000_000_000
LEAST_PACKET_B = 64
# Runs in a nameless namespace that ends with it; prints the name of each feature.
PROBE = r"""
ip link add nl0 type veth peer name nl1 || exit 0
tc qdisc add dev nl0 root handle 1: netem limit 1000 delay 1000us && echo netem
tc qdisc add dev nl0 parent 1:1 handle 2: tbf rate 1gbit burst 131072b limit 1000000b && echo rate
tc qdisc replace dev nl0 root handle 1: netem limit 1000 loss 1% seed 1 && echo seed
exit 0
"""


class KernelFeatures(NamedTuple):
    """Features of this kernel and its tc: netem, a rate below it, and seeds (6.6 of either)."""

    netem: bool
    rate: bool
    seed: bool


def probed(run: Callable[[tuple[str, ...]], str] = tool) -> KernelFeatures:
    place = rootless.nameless() if rootless.rootless() else ("unshare", "--net", "--")
    words = run((*place, "sh", "-c", PROBE)).split()
    return KernelFeatures(*(name in words for name in KernelFeatures._fields))


@cache
def kernel() -> KernelFeatures:
    return probed()


def lacking(emulator: Emulator, there: KernelFeatures) -> str | None:
    random = emulator.loss or emulator.jitter_ms or emulator.reorder
    rate = emulator.rate_Mbps is not None
    reasons = {
        "this kernel has no netem": not there.netem,
        "this kernel has no token bucket (tbf) for the rate": rate and not there.rate,
        "netem takes no seed here (Linux 6.6 and iproute2 6.6 do)": random and not there.seed,
        "its queue cannot be bounded in bytes and in packets at once": emulator.queue_B
        and emulator.queue_packets,
        "netem marks no packets by its queue": emulator.mark_above_B,
        "netem follows no trace of a rate": emulator.trace,
        "netem is set alike in both directions": emulator.reverse,
        "netem emulates one link, not two in a row": emulator.second,
        "the disciplines of its queue differ by kernel": emulator.queue_discipline != "fifo",
        "netlab counts the packets of a burst of losses itself": emulator.loss_burst_packets,
        "its bucket is a frame and 4 ms of the rate, and it queues what finds no tokens": (
            emulator.burst_B
        ),
        "what netem reorders passes the rate by": emulator.reorder and rate,
        "netem reorders by sending at once what others wait for: that takes a delay each way": (
            emulator.reorder and not all(emulator.each_way_ms)
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def takes(emulator: Emulator, there: Callable[[], KernelFeatures] = kernel) -> bool:
    """Return whether netem emulates a path; otherwise netlab's own emulator does."""
    if emulator.with_ == "netlab":
        return False
    missing = lacking(emulator, there())
    if emulator.with_ == "netem":
        if missing:
            raise Unsupported(f"the study asks for a path with netem: {missing}", code="E-LAB-023")
        return True
    # its jitter does not keep the order, and what it reorders is sent at once, not later
    return not (missing or emulator.jitter_ms or emulator.reorder)


def path_bucket_B(rate_bps: int, mtu_B: int) -> int:
    """Bucket of an emulated path, B: the 32 KiB of a link's bucket would lengthen its queue."""
    smooth_B = round(rate_bps / 8 * SMOOTH_S)
    return min(bucket_B(rate_bps, mtu_B), mtu_B + ETHERNET_HEADER_B + smooth_B)


@dataclass(frozen=True)
class NetemSettings:
    """Settings of netem and tbf (``burst_B``) in tc's units; pairs are forward and reverse."""

    delay_us: tuple[int, int]
    jitter_us: int
    loss: float
    reorder: float
    seed: int | None
    limit_packets: int
    rate_bps: int
    burst_B: int
    queue_B: int
    queue_packets: int

    @classmethod
    def of(cls, emulator: Emulator, mtu_B: int = 1500) -> Self:
        """Settings for a path of the study, used with an MTU of so much at most."""
        there_ms, back_ms = emulator.each_way_ms
        rate_bps = round((emulator.rate_Mbps or 0) * 1e6)
        longest_s = (max(there_ms, back_ms) + emulator.jitter_ms) / 1e3
        flying = (rate_bps or ASSUMED_BPS) / 8 * longest_s / LEAST_PACKET_B
        random = emulator.loss or emulator.jitter_ms or emulator.reorder
        # while the CPU that moves packets on has other work, what the queue may hold waits in netem
        waiting = emulator.queue_packets or (emulator.queue_B or QUEUE_LIMIT_B) // LEAST_PACKET_B
        return cls(
            delay_us=(round(there_ms * 1000), round(back_ms * 1000)),
            jitter_us=round(emulator.jitter_ms * 1000),
            loss=emulator.loss,
            reorder=emulator.reorder,
            seed=emulator.seed if random else None,
            # no memory is reserved for it, and packets in flight are not a queue
            limit_packets=min(2**31 - 1, 1000 + 2 * round(flying) + (waiting if rate_bps else 0)),
            rate_bps=rate_bps,
            burst_B=path_bucket_B(rate_bps, mtu_B),
            queue_B=emulator.queue_B or 0,
            queue_packets=emulator.queue_packets or 0,
        )

    def tc_lines(self, interface: str, direction: int) -> list[str]:
        words = [f"limit {self.limit_packets}"]
        # jitter and reorder are words of a delay
        if self.delay_us[direction] or self.jitter_us or self.reorder:
            words.append(f"delay {self.delay_us[direction]}us")
            if self.jitter_us:
                words.append(f"{self.jitter_us}us")
        if self.loss:
            words.append(f"loss {100 * self.loss:.9g}%")
        if self.reorder:
            words.append(f"reorder {100 * self.reorder:.9g}%")
        if self.seed is not None:
            # an independent random sequence for each direction
            words.append(f"seed {2 * self.seed + direction}")
        qdisc = f"qdisc add dev {interface}"
        lines = [f"{qdisc} root handle 1: netem {' '.join(words)}"]
        if self.rate_bps:
            limit_B = self.queue_B or QUEUE_LIMIT_B
            lines.append(
                f"{qdisc} parent 1:1 handle 2: tbf rate {self.rate_bps}bit "
                f"burst {self.burst_B}b limit {limit_B}b"
            )
        if self.queue_packets:
            lines.append(f"{qdisc} parent 2:1 handle 3: pfifo limit {self.queue_packets}")
        return lines


def link_settings() -> LinkSettings:
    bare = LabLink(interrupt_delay_us=0.0, segmentation_offload=False, checksum_offload=True)
    return replace(LinkSettings.of(bare, None), apart=True)
