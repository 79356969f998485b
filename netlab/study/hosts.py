"""Hosts, their buses, and the ends of a path that sit on them."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from netlab.study.base import InterfaceName, Megabytes, Model, Name


class Bus(Model):
    """The bus of a host's card.

    ``bandwidth_MBps`` is the theoretical bandwidth, MB/s = 10^6 B/s; ``label`` its name;
    ``shared`` is true where both directions share it (PCI, PCI-X) and false where each has it
    whole (PCIe, the lab).
    """

    bandwidth_MBps: Megabytes
    label: Annotated[str, Field(min_length=1, max_length=120)]
    shared: bool = False


class StudyHost(Model):
    """A machine that can send or receive.

    ``kind`` ``lab`` is a network namespace that netlab makes; ``ssh`` is a machine reached at
    ``address`` with the user's own SSH configuration. ``profiles`` maps a tuning of the study to
    the name of the tuning that this host takes for it, where that differs from the other hosts'.
    """

    kind: Literal["lab", "ssh"]
    address: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    user: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]{0,31}$")] | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    identity_file: str | None = None
    bus: Bus | None = None
    profiles: dict[Name, Name] = Field(default_factory=dict)

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


class End(Model):
    """One end of a path: a host, its data address and the interface that carries it.

    In the lab both may be left out: addresses come from 198.18.0.0/15 (RFC 2544).
    """

    host: Name
    address: str | None = None
    interface: InterfaceName | None = None

    @field_validator("address")
    @classmethod
    def _numeric(cls, value: str | None) -> str | None:
        if value is not None:
            address = ipaddress.ip_address(value)
            if address.is_unspecified or address.is_multicast or value == "255.255.255.255":
                raise ValueError("is not an address of a single host")
        return value
