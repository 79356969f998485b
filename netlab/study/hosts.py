"""Hosts, their buses, and the ends of a path that sit on them."""

from __future__ import annotations

import ipaddress
import re
from typing import Literal, Self

from pydantic import field_validator, model_validator

from netlab.files.model_mistakes import pattern
from netlab.study.base import InterfaceName, Megabytes, Model, Name, Sparse
from netlab.tuning.knobs import key


class Bus(Model, title="`hosts.NAME.bus`"):
    """The bus of a host's card; PCIe and the lab's have each direction whole."""

    bandwidth_MBps: Megabytes = key("Theoretical bandwidth, 10⁶ B/s.", 1064.0)
    label: str = key("Name of the bus.", "PCI-X 64 bit at 133 MHz", min_length=1, max_length=120)
    shared: bool = key("Both directions share the bandwidth, as on PCI-X.", True, False)


class StudyHost(Model, title="`hosts.NAME`"):
    """A machine that can send or receive."""

    kind: Literal["lab", "ssh"] = key(
        "`lab`: a namespace that netlab makes; `ssh`: a machine of yours.", "ssh"
    )
    address: str | None = key(
        "Host name, address or alias of ~/.ssh/config; of an ssh host.",
        "left.example.org",
        None,
        min_length=1,
        max_length=253,
    )
    user: str | None = key(
        "User at the host. Default: as SSH has it.",
        "measure",
        None,
        pattern=pattern(
            r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$", "a user's name of at most 32 characters"
        ),
    )
    port: int | None = key("Port of its sshd. Default: as SSH has it.", 22, None, ge=1, le=65535)
    identity_file: str | None = key(
        "Private key. Default: as SSH has it.", "~/.ssh/id_ed25519", None
    )
    agent_directory: str | None = key(
        "Where the agent lies, in a directory `netlab`. Default: the cache of the login.",
        "/opt/measure",
        None,
        pattern=pattern(r"^/[^\x00-\x1f\x7f]*$", "an absolute path"),
    )
    bus: Bus | None = key(
        "Bus of the card; read from the host where it reports one.",
        {"bandwidth_MBps": 7877.0, "label": "PCIe 3.0 x8"},
        None,
    )
    profiles: dict[Name, Name] = key(
        "Tunings of this host in place of the study's, by level.",
        {"full": "openlab-2003-full-linux32"},
        default_factory=dict,
    )

    @model_validator(mode="after")
    def _address_fits_kind(self) -> Self:
        own = ("address", "user", "port", "identity_file", "agent_directory")
        if self.kind == "lab" and any(getattr(self, name) for name in own):
            raise ValueError(f"a lab host takes no {', '.join(own[:-1])} or {own[-1]}")
        if self.kind == "ssh" and not self.address:
            raise ValueError("an ssh host needs an address")
        if self.address and not re.fullmatch(r"[A-Za-z0-9_.:%][A-Za-z0-9_.:%-]*", self.address):
            allowed = "a host name, an address or an alias of ~/.ssh/config"
            raise ValueError(f"address is {allowed}, not {self.address!r}")
        return self


class End(Sparse, title="`paths.NAME.ends`"):
    """One end of a path: a host, its data address and the interface that carries it.

    In the lab both may be left out: addresses come from 198.18.0.0/15 (RFC 2544).
    """

    left_out = ("bind_address", "port")

    host: Name = key("Name of the host.", "left")
    address: str | None = key("Data address; the lab chooses its own.", "192.0.2.1", None)
    interface: InterfaceName | None = key(
        "Interface that carries the data; the lab chooses its own.", "eth2", None
    )
    bind_address: str | None = key(
        "The host's own address where the other end reaches it by another (NAT).", "10.0.0.4", None
    )
    port: int | str | None = key(
        "TCP port at which it receives, or a range, as a firewall allows.", "5201-5210", None
    )

    @property
    def ports(self) -> range | None:
        """The ports at which the host may receive; None for any."""
        if self.port is None:
            return None
        first, _, last = str(self.port).partition("-")
        return range(int(first), int(last or first) + 1)

    @field_validator("port")
    @classmethod
    def _port(cls, value: int | str | None) -> int | str | None:
        first, _, last = str(1 if value is None else value).partition("-")
        numeric = first.isdecimal() and (last or first).isdecimal()
        if not numeric or not 1 <= int(first) <= int(last or first) <= 65535:
            raise ValueError("is a port from 1 to 65535, or a range such as 5201-5210")
        return value

    @field_validator("address", "bind_address")
    @classmethod
    def _numeric(cls, value: str | None) -> str | None:
        if value is not None:
            address = ipaddress.ip_address(value)
            if address.is_unspecified or address.is_multicast or value == "255.255.255.255":
                raise ValueError("is not an address of a single host")
        return value
