"""A lab link: a veth pair whose ends model a NIC and its bus by features of the kernel.

Models:

* one frame per MTU, as a card without segmentation offload sends them: TSO and GSO off. GRO stays
  on, because veth polls under NAPI only then; ``gro_max_size`` 100 keeps it from merging.
* RxIntDelay, the card's delay before an interrupt: ``gro_flush_timeout`` with
  ``napi_defer_hard_irqs`` 1.
* checksums by the processor: checksum offload off.
* the bus: a token bucket (tbf) on what each end sends.
* the card's queues, where it has several: pairs of veth, one for each processor or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from netlab.bus import pci_x_efficiency
from netlab.lab.link_queues import sending_masks
from netlab.lab.namespaces import inside, ip, tc, tool, tool_json
from netlab.study import LabLink
from netlab.units import ETHERNET_HEADER_B

# 1,000 packets, as Linux gives an Ethernet card.
TX_QUEUE_LENGTH = 1000
UNMERGED_B = 100
# The bucket must hold two frames of any MTU, and half a millisecond of the rate: measured with
# MTU 1500 to 16114, half of either costs 1 % at 1 Gb/s and a quarter of the rate at 17 Gb/s.
BURST_S = 0.0005
FRAME_B = 16384
# tbf sends a large segment (64 KiB) whole if it fits, and a slow link is then silent for the time
# it takes: 58 ms at 10 Mb/s. It splits one that does not fit into frames. So a bucket is smaller
# where it still lasts for 4 ms; at 2 ms, scheduling pauses cost up to 1 %.
SEGMENTS_B = 131072
SMOOTH_S = 0.004
# A bus delays its sender and never drops, so the queue is longer than all socket buffers.
QUEUE_LIMIT_B = 32 << 20

# Arguments: interface and, where there is a card, on|off for segmentation, on|off for checksums.
# For root of the machine also flush timeout in ns, defer and, of several queues, which processors
# send into each.
SETTINGS = r"""
set -e
interface=$1
if [ $# -gt 1 ]; then
  d=/sys/class/net/$1
  ethtool -K "$1" gro on tso "$2" gso "$2" tx "$3" rx "$3" >/dev/null
  shift 3
  if [ $# -gt 0 ]; then
    echo "$1" > "$d/gro_flush_timeout"
    echo "$2" > "$d/napi_defer_hard_irqs"
    shift 2
  fi
  queue=0
  for mask do
    echo "$mask" > "$d/queues/tx-$queue/xps_cpus"
    queue=$((queue + 1))
  done
fi
c=/proc/sys/net/ipv6/conf/$interface
if [ -e "$c/disable_ipv6" ]; then echo 0 > "$c/disable_ipv6"; fi
"""
READ_BACK = r"""
d=/sys/class/net/$1
cat "$d/gro_flush_timeout" "$d/napi_defer_hard_irqs"
set -- "$d"/queues/rx-*
echo $#
set -- "$d"/queues/tx-*
echo $#
if [ $# -gt 1 ]; then cat "$d"/queues/tx-*/xps_cpus; fi
"""
UP_S = 10.0
"""Timeout of a new link. The kernel reports it a moment later, on a busy machine up to a second."""
# Arguments: timeout in tenths of a second, interfaces. A TUN interface has no state to report.
WAIT = r"""
left=$1
shift
for interface do
  while :; do
    read -r state < "/sys/class/net/$interface/operstate" || exit 1
    case $state in up|unknown) break;; esac
    if [ "$left" -le 0 ]; then echo "$interface is $state" >&2; exit 3; fi
    left=$((left - 1))
    sleep 0.1
  done
done
"""
FEATURES = {
    "tso": "tcp-segmentation-offload",
    "gso": "generic-segmentation-offload",
    "gro": "generic-receive-offload",
    "rx_checksum": "rx-checksumming",
    "tx_checksum": "tx-checksumming",
    "scatter_gather": "scatter-gather",
}


def bucket_B(rate_bps: int, mtu_B: int = 1500) -> int:
    frames_B = 2 * max(FRAME_B, mtu_B + ETHERNET_HEADER_B)
    smooth_B = min(SEGMENTS_B, round(rate_bps / 8 * SMOOTH_S))
    return max(frames_B, smooth_B, round(rate_bps / 8 * BURST_S))


@dataclass(frozen=True)
class LinkSettings:
    """Settings of one end of a link, in the kernel's units.

    ``rate_bps`` is of Ethernet frames as tbf counts them: MTU + 14 bytes, without preamble and
    check sequence. None leaves the end unshaped. `card` is whether the end models a card. With
    `apart` TCP passes on every segment as a packet of its own, for qdiscs that emulate a network.
    `queues` is the number of pairs of queues.
    """

    rate_bps: int | None
    burst_B: int
    limit_B: int
    interrupt_delay_ns: int
    segmentation_offload: bool
    checksum_offload: bool
    card: bool = True
    apart: bool = False
    queues: int = 1

    @classmethod
    def of(cls, link: LabLink, bus_MBps: float | None, mtu_B: int = 1500) -> LinkSettings:
        rate_bps = None if bus_MBps is None else round(bus_MBps * 8e6)
        if rate_bps is not None and link.read_burst_B is not None:
            rate_bps = round(rate_bps * pci_x_efficiency(link.read_burst_B))
        if link.rate_Mbps is not None:
            rate_bps = round(link.rate_Mbps * 1e6)
        # an emulated path has no interrupts, and both offloads always
        emulated = link.emulator is not None
        return cls(
            rate_bps=rate_bps,
            burst_B=bucket_B(rate_bps or 0, mtu_B),
            limit_B=QUEUE_LIMIT_B,
            interrupt_delay_ns=0 if emulated else round(link.interrupt_delay_us * 1000),
            segmentation_offload=emulated or link.segmentation_offload,
            checksum_offload=emulated or link.checksum_offload,
            card=not emulated,
            queues=link.queues,
        )

    @property
    def add_words(self) -> str:
        """Words of ``ip link add`` for one end; none for a single pair of queues."""
        return f" numtxqueues {self.queues} numrxqueues {self.queues}" if self.queues > 1 else ""

    def ip_lines(self, interface: str) -> list[str]:
        words = f"link set dev {interface} txqueuelen {TX_QUEUE_LENGTH}"
        if not self.segmentation_offload:
            words += f" gro_max_size {UNMERGED_B}"
        if self.apart:
            words += " gso_max_segs 1"
        return [words]

    def tc_lines(self, interface: str) -> list[str]:
        if self.rate_bps is None:
            return []
        return [
            f"qdisc replace dev {interface} root tbf rate {self.rate_bps}bit "
            f"burst {self.burst_B}b limit {self.limit_B}b"
        ]

    def settings_argv(self, interface: str, *, reserved: bool = True) -> tuple[str, ...]:
        argv = ["sh", "-c", SETTINGS, "settings", interface]
        if self.card:
            argv.append("on" if self.segmentation_offload else "off")
            argv.append("on" if self.checksum_offload else "off")
        if self.card and reserved:
            argv += [str(self.interrupt_delay_ns), "1" if self.interrupt_delay_ns else "0"]
            argv += sending_masks(self.queues)
        return tuple(argv)


def wait_until_up(
    namespace: str,
    interfaces: Sequence[str],
    *,
    host: str = "lab",
    busy: int | None = None,
    timeout_s: float = UP_S,
) -> None:
    argv = ("sh", "-c", WAIT, "wait", str(round(timeout_s * 10)), *interfaces)
    tool(inside(namespace, argv), host=host, busy=busy)


def describe(namespace: str, interface: str, wanted: LinkSettings) -> dict:
    (link,) = tool_json(ip(namespace, "-j", "-d", "link", "show", "dev", interface))
    qdiscs = tool_json(tc(namespace, "-j", "qdisc", "show", "dev", interface))
    shape: dict = next((q["options"] for q in qdiscs if q["kind"] == "tbf"), {})
    (features,) = tool_json(inside(namespace, ("ethtool", "--json", "-k", interface)))
    sysfs = tool(inside(namespace, ("sh", "-c", READ_BACK, "read", interface))).split()
    return {
        "wanted": asdict(wanted),
        "interface": interface,
        "mtu_B": link["mtu"],
        "txqueuelen": link["txqlen"],
        "mac_address": link.get("address"),
        "gro_max_size_B": link.get("gro_max_size"),
        "gso_max_segs": link.get("gso_max_segs"),
        "rate_bps": None if not shape else shape["rate"] * 8,
        "burst_B": shape.get("burst"),
        "interrupt_delay_ns": int(sysfs[0]),
        "napi_defer_hard_irqs": int(sysfs[1]),
        "receive_queues": int(sysfs[2]),
        "transmit_queues": int(sysfs[3]),
        "sending_cpus": sysfs[4:],
        **{name: features[key]["active"] for name, key in FEATURES.items()},
    }
