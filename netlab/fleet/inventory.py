"""Hosts of a fleet with groups and labels: the model, and its own YAML file."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from netlab.errors import check
from netlab.files.yaml_file import read_yaml, validated
from netlab.fleet.ansible import from_ansible
from netlab.fleet.ssh_config import from_ssh_config
from netlab.study import StudyHost
from netlab.study.base import InterfaceName, Model, Name, misplaced

Label = Annotated[str, Field(max_length=200)]
GivenPair = Annotated[tuple[Name, Name], Field(strict=False)]
Format = Literal["netlab", "ansible", "ini", "ssh"]
MAX_HOSTS = 10_000


class FleetHost(Model):
    """A host of a fleet, reached over SSH.

    ``address`` is a host name, an address or an alias of ``~/.ssh/config``; left out, the name of
    the host. ``data_address`` and ``interface`` are its end of the data network; where one is left
    out, the host is asked. ``groups`` and ``labels`` select hosts.
    """

    address: str | None = None
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None
    data_address: str | None = None
    interface: InterfaceName | None = None
    groups: Annotated[tuple[Name, ...], Field(strict=False)] = ()
    labels: dict[str, Label] = Field(default_factory=dict)

    @field_validator("data_address")
    @classmethod
    def _numeric(cls, value: str | None) -> str | None:
        if value is not None:
            ipaddress.ip_address(value)
        return value

    @model_validator(mode="after")
    def _reached(self) -> Self:
        self.ssh("host")
        return self

    def ssh(self, name: str) -> StudyHost:
        return StudyHost(
            kind="ssh",
            address=self.address or name,
            user=self.user,
            port=self.port,
            identity_file=self.identity_file,
        )


class Inventory(Model):
    """The hosts of a fleet, and pairs of them where they are given.

    ``netlab`` is the version of the format, 1.
    """

    netlab: Literal[1] = 1
    hosts: Annotated[dict[Name, FleetHost], Field(min_length=2, max_length=MAX_HOSTS)]
    pairs: Annotated[tuple[GivenPair, ...], Field(strict=False)] = ()

    @model_validator(mode="after")
    def _pairs_are_of_hosts(self) -> Self:
        seen: set[frozenset[str]] = set()
        for index, pair in enumerate(self.pairs):
            place = ("pairs", index)
            unknown = [name for name in pair if name not in self.hosts]
            if unknown:
                raise misplaced("no host has this name", place, unknown[0], code="E-FLEET-001")
            if pair[0] == pair[1]:
                raise misplaced("a host cannot be its own peer", place, pair[0], code="E-FLEET-002")
            if frozenset(pair) in seen:
                text = "the pair is given twice"
                raise misplaced(text, place, " and ".join(pair), code="E-FLEET-003")
            seen.add(frozenset(pair))
        return self

    def only(self, selectors: Iterable[str]) -> Inventory:
        """The hosts that each selector accepts, and the pairs among them."""
        chosen = dict(self.hosts)
        for selector in selectors:
            label, equals, value = selector.partition("=")
            chosen = {
                name: host
                for name, host in chosen.items()
                if (host.labels.get(label) == value if equals else selector in (name, *host.groups))
            }
            groups = sorted({group for host in self.hosts.values() for group in host.groups})
            text = f"fewer than two hosts are left; groups are {', '.join(groups) or 'none'}"
            check(len(chosen) >= 2, "only", selector, text, "E-FLEET-004")
        pairs = tuple(pair for pair in self.pairs if set(pair) <= set(chosen))
        return Inventory(hosts=chosen, pairs=pairs)


def load_inventory(path: Path | str, *, format: Format | None = None) -> Inventory:
    path = Path(path)
    if format is None and path.suffix not in (".yml", ".yaml"):
        in_ssh = path.parent.name == ".ssh" or path.name in ("ssh_config", "config")
        format = "ssh" if in_ssh else "ini"
    if format == "ssh":
        content: dict = from_ssh_config(path)
    elif format == "ini":
        content = from_ansible(path, "ini")
    else:
        content = read_yaml(path)
        if format != "netlab" and (format == "ansible" or "netlab" not in content):
            content = from_ansible(path, "yaml")
    return validated(Inventory, content, str(path))
