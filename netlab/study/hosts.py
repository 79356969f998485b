"""Hosts, their buses, and the ends of a path that sit on them."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from netlab.study.base import InterfaceName, Megabytes, Model, Name
from netlab.tuning.knobs import key


class Bus(Model, title="`hosts.NAME.bus`"):
    """The bus of a host's card; PCIe and the lab's have each direction whole."""

    bandwidth_MBps: Annotated[Megabytes, key("Theoretical bandwidth, 10⁶ B/s.", 1064.0)]
    label: Annotated[
        str, key("Name of the bus.", "PCI-X 64 bit at 133 MHz", min_length=1, max_length=120)
    ]
    shared: Annotated[bool, key("Both directions share the bandwidth, as on PCI-X.", True)] = False


class StudyHost(Model, title="`hosts.NAME`"):
    """A machine that can send or receive."""

    kind: Annotated[
        Literal["lab", "ssh"],
        key("`lab`: a namespace that netlab makes; `ssh`: a machine of yours.", "ssh"),
    ]
    address: Annotated[
        Annotated[str, Field(min_length=1, max_length=253)] | None,
        key("Host name, address or alias of ~/.ssh/config; of an ssh host.", "left.example.org"),
    ] = None
    user: Annotated[
        Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")] | None,
        key("User at the host. Default: as SSH has it.", "measure"),
    ] = None
    port: Annotated[
        Annotated[int, Field(ge=1, le=65535)] | None,
        key("Port of its sshd. Default: as SSH has it.", 22),
    ] = None
    identity_file: Annotated[
        str | None, key("Private key. Default: as SSH has it.", "~/.ssh/id_ed25519")
    ] = None
    bus: Annotated[
        Bus | None,
        key(
            "Bus of the card; read from the host where it reports one.",
            {"bandwidth_MBps": 7877.0, "label": "PCIe 3.0 x8"},
        ),
    ] = None
    profiles: Annotated[
        dict[Name, Name],
        key(
            "Tunings of this host in place of the study's, by level.",
            {"full": "openlab-2003-full-linux32"},
        ),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _address_fits_kind(self) -> Self:
        if self.kind == "lab" and (self.address or self.user or self.port or self.identity_file):
            raise ValueError("a lab host takes no address, user, port or identity_file")
        if self.kind == "ssh" and not self.address:
            raise ValueError("an ssh host needs an address")
        if self.address and not re.fullmatch(r"[A-Za-z0-9_.:%][A-Za-z0-9_.:%-]*", self.address):
            raise ValueError(
                "address is a host name, an address or an alias of ~/.ssh/config, "
                f"not {self.address!r}"
            )
        return self


class End(Model, title="`paths.NAME.ends`"):
    """One end of a path: a host, its data address and the interface that carries it.

    In the lab both may be left out: addresses come from 198.18.0.0/15 (RFC 2544).
    """

    host: Annotated[Name, key("Name of the host.", "left")]
    address: Annotated[str | None, key("Data address; the lab chooses its own.", "192.0.2.1")] = (
        None
    )
    interface: Annotated[
        InterfaceName | None,
        key("Interface that carries the data; the lab chooses its own.", "eth2"),
    ] = None

    @field_validator("address")
    @classmethod
    def _numeric(cls, value: str | None) -> str | None:
        if value is not None:
            address = ipaddress.ip_address(value)
            if address.is_unspecified or address.is_multicast or value == "255.255.255.255":
                raise ValueError("is not an address of a single host")
        return value
