"""Findings of a survey on a host, and the path that joins two hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlab.bus import SerialBus, link_of
from netlab.files.recorded_facts import NamespaceFacts
from netlab.hosts.stack import InterfaceStack
from netlab.units import plain

IpInterface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True)
class Address:
    """An address of an interface, and the network that it reaches without a router."""

    own: str
    reaches: IpInterface

    @classmethod
    def of(cls, own: str, reaches: str) -> Address | None:
        """From texts; None if they are not addresses."""
        try:
            return cls(str(ipaddress.ip_address(own)), ipaddress.ip_interface(reaches))
        except ValueError:
            return None

    @property
    def version(self) -> int:
        return self.reaches.version

    def joins(self, other: Address) -> bool:
        """True if each is in the network of the other, and they differ."""
        return (
            self.own != other.own
            and ipaddress.ip_address(other.own) in self.reaches.network
            and ipaddress.ip_address(self.own) in other.reaches.network
        )


@dataclass(frozen=True)
class Interrupt:
    """An interrupt of a card: its number, and the CPUs that serve it, such as ``0-3``."""

    number: int
    cpus: str


@dataclass(frozen=True)
class Interface:
    """An interface with an address; empty or None where the host does not say.

    ``ring`` is the receive ring, in packets; ``ring_max`` and ``channels_max`` are its largest and
    the most pairs of queues. ``drops`` counts lost packets by the name of the counter.
    """

    name: str
    addresses: tuple[Address, ...] = ()
    link_local: tuple[Address, ...] = ()
    up: bool = True
    mtu_B: int = 1500
    speed_Mbps: int | None = None
    duplex: str = ""
    driver: str = ""
    driver_version: str = ""
    bus_address: str = ""
    link_speed: str = ""
    link_width: int | None = None
    link_max_speed: str = ""
    link_max_width: int | None = None
    local_cpus: str = ""
    rx_queues: int = 1
    channels_max: int | None = None
    ring: int | None = None
    ring_max: int | None = None
    pauses: tuple[str, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    qdiscs: tuple[str, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()
    stack: InterfaceStack = field(default_factory=lambda: InterfaceStack(()))

    @property
    def bus(self) -> SerialBus | None:
        return link_of(self.link_speed, self.link_width)

    @property
    def bus_max(self) -> SerialBus | None:
        return link_of(self.link_max_speed, self.link_max_width)

    def text(self) -> str:
        driver = " ".join(filter(None, (self.driver, self.driver_version)))
        parts = (
            driver,
            f"{self.speed_Mbps} Mb/s" if self.speed_Mbps else "",
            str(self.bus.name) if self.bus else "",
            f"{self.rx_queues} receive queue{'s' if self.rx_queues > 1 else ''}",
            f"MTU {self.mtu_B} B",
            self.stack.text(),
        )
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class HostSurvey:
    """Parts and settings of a host.

    ``idle_us`` is the time to leave its deepest enabled idle state; ``filters`` counts rules and
    chains for incoming packets, as far as the user may read them; ``rmem_max_B`` and
    ``wmem_max_B`` are the most that the kernel gives a socket by itself. ``conntrack`` is true if
    connections are tracked now, and ``synchronised`` is None where the host does not say.
    ``loopback`` has the addresses of ``lo`` that other hosts may reach.
    """

    name: str
    kernel: str = ""
    os: str = ""
    cpus: int = 1
    cpu_model: str = ""
    clock_s: int | None = None
    ssh_address: str = ""
    governors: tuple[str, ...] = ()
    idle_us: int = 0
    services: tuple[str, ...] = ()
    synchronised: bool | None = None
    congestion: str = ""
    rmem_max_B: int | None = None
    wmem_max_B: int | None = None
    conntrack: bool = False
    filters: int = 0
    interfaces: tuple[Interface, ...] = ()
    loopback: tuple[str, ...] = ()
    boot_id: str = ""
    network_namespace: str = ""

    @property
    def namespace(self) -> NamespaceFacts:
        return {"boot_id": self.boot_id, "network_namespace": self.network_namespace}

    def text(self) -> str:
        cpus = f"{self.cpus} x {self.cpu_model}" if self.cpu_model else f"{self.cpus} CPUs"
        return ", ".join(filter(None, (self.os, f"Linux {self.kernel}", cpus)))


@dataclass(frozen=True)
class FoundEnd:
    host: HostSurvey
    interface: Interface
    address: str

    @property
    def is_management(self) -> bool:
        return self.address == self.host.ssh_address


@dataclass(frozen=True)
class FoundPath:
    """A path between two hosts on which a TCP connection passes.

    ``routed`` is true if a router lies between; ``rtt_ms`` is the mean round trip of a few pings,
    or without ``answers`` that of the connection. ``refused`` has the reason by the name of a
    sender from which none passes; the other way one does. ``beside_ssh`` is true for cards without
    an address of their own in the network of the cards that carry SSH.
    """

    ends: tuple[FoundEnd, FoundEnd]
    rtt_ms: float
    routed: bool = False
    answers: bool = True
    refused: Mapping[str, str] = field(default_factory=dict)
    beside_ssh: bool = False

    def receiver_of(self, sender: str) -> FoundEnd:
        return next(end for end in self.ends if end.host.name != sender)

    @property
    def rtt_text(self) -> str:
        how = "" if self.answers else " (of TCP; no ping came back)"
        return f"{plain(self.rtt_ms, '.3g')} ms{how}"

    @property
    def speed_Mbps(self) -> int | None:
        """Speed of the slower card, where both are known."""
        speeds = [speed for end in self.ends if (speed := end.interface.speed_Mbps) is not None]
        return min(speeds) if len(speeds) == 2 else None

    @property
    def bdp_B(self) -> int | None:
        """Bandwidth-delay product, B: what a stream must keep in flight to fill the path."""
        if self.speed_Mbps is None:
            return None
        return round(self.speed_Mbps * 1e6 / 8 * self.rtt_ms / 1e3)
