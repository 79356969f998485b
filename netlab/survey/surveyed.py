"""Findings of a survey on a host, and the path that joins two hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlab.bus.pcie import SerialBus
from netlab.bus.sysfs import link_of

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
        """4 or 6."""
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

    ``ring`` and ``channels`` are the receive ring, in packets, and the pairs of queues; with
    ``_max`` what the card has. ``drops`` counts lost packets by the name of the counter.
    """

    name: str
    addresses: tuple[Address, ...] = ()
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
    numa_node: int | None = None
    local_cpus: str = ""
    rx_queues: int = 1
    channels: int | None = None
    channels_max: int | None = None
    ring: int | None = None
    ring_max: int | None = None
    pauses: tuple[str, ...] = ()
    features: Mapping[str, str] = field(default_factory=dict)
    drops: Mapping[str, int] = field(default_factory=dict)
    qdiscs: tuple[str, ...] = ()
    interrupts: tuple[Interrupt, ...] = ()

    @property
    def bus(self) -> SerialBus | None:
        """The PCI Express link as it is."""
        return link_of(self.link_speed, self.link_width)

    @property
    def bus_max(self) -> SerialBus | None:
        """The fastest link of the card."""
        return link_of(self.link_max_speed, self.link_max_width)

    def text(self) -> str:
        """Its parts in a phrase."""
        driver = " ".join(filter(None, (self.driver, self.driver_version)))
        parts = (
            driver,
            f"{self.speed_Mbps} Mb/s" if self.speed_Mbps else "",
            str(self.bus.name) if self.bus else "",
            f"{self.rx_queues} receive queue{'s' if self.rx_queues > 1 else ''}",
            f"MTU {self.mtu_B} B",
        )
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class HostSurvey:
    """Parts and settings of a host.

    ``idle_us`` is the time to leave its deepest enabled idle state; ``filters`` counts rules and
    chains for incoming packets, as far as the user may read them; ``rmem_max_B`` and
    ``wmem_max_B`` are the most that the kernel gives a socket by itself. ``conntrack`` is true if
    connections are tracked now, and ``synchronised`` is None where the host does not say.
    """

    name: str
    hostname: str = ""
    kernel: str = ""
    os: str = ""
    cpus: int = 1
    cpu_model: str = ""
    clock_s: int | None = None
    ssh_address: str = ""
    governors: tuple[str, ...] = ()
    idle_us: int = 0
    smt: bool = False
    services: tuple[str, ...] = ()
    synchronised: bool | None = None
    congestion: str = ""
    available: tuple[str, ...] = ()
    rmem_max_B: int | None = None
    wmem_max_B: int | None = None
    conntrack: bool = False
    filters: int = 0
    interfaces: tuple[Interface, ...] = ()

    def text(self) -> str:
        """Its parts in a phrase."""
        cpus = f"{self.cpus} x {self.cpu_model}" if self.cpu_model else f"{self.cpus} CPUs"
        return ", ".join(filter(None, (self.os, f"Linux {self.kernel}", cpus)))


@dataclass(frozen=True)
class FoundEnd:
    """One end of a path that was found."""

    host: HostSurvey
    interface: Interface
    address: str

    @property
    def is_management(self) -> bool:
        """True if the SSH connection uses the same address."""
        return self.address == self.host.ssh_address


@dataclass(frozen=True)
class FoundPath:
    """A path between two hosts on which packets pass.

    ``routed`` is true if a router lies between; ``rtt_ms`` is the mean round trip of a few pings.
    """

    ends: tuple[FoundEnd, FoundEnd]
    rtt_ms: float
    routed: bool = False

    @property
    def speed_Mbps(self) -> int | None:
        """Speed of the slower card, where both are known."""
        speeds = [end.interface.speed_Mbps for end in self.ends]
        return None if None in speeds else min(speed for speed in speeds if speed is not None)

    @property
    def bdp_B(self) -> int | None:
        """Bandwidth-delay product, B: what a stream must keep in flight to fill the path."""
        if self.speed_Mbps is None:
            return None
        return round(self.speed_Mbps * 1e6 / 8 * self.rtt_ms / 1e3)
