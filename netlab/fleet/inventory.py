"""The hosts of a fleet, from YAML, Ansible or SSH, and the pairs of them to measure."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from netlab.errors import BadInput, NetlabError, check
from netlab.files.writing import parse_json, write_text
from netlab.files.yaml_file import read_yaml, validated
from netlab.study import StudyHost
from netlab.study.base import InterfaceName, Model, Name, misplaced

# Hosts from an Ansible inventory, as `ansible-inventory` reads it.

SSH = {
    "ansible_host": "address",
    "ansible_user": "user",
    "ansible_port": "port",
    "ansible_ssh_private_key_file": "identity_file",
    "netlab_address": "data_address",
    "netlab_interface": "interface",
}
"""Variables that netlab takes, and its own keys for them; scalars of other names are labels."""

EVERY = ("all", "ungrouped")
"""Groups that every inventory has."""

READ_S = 60.0

SETTINGS = {
    **dict.fromkeys(("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "ANSIBLE_NOCOLOR"), "true"),
    "PYTHONSAFEPATH": "1",
}


def from_ansible(path: Path, plugin: Literal["yaml", "ini"]) -> dict[str, Any]:
    if importlib.util.find_spec("ansible") is None:
        raise NetlabError(
            "an Ansible inventory needs ansible-core, which is not installed: "
            "pip install 'netlab[fleet]', or `uv sync --extra fleet` in a checkout",
            code="E-FLEET-005",
        )
    argv = (sys.executable, "-m", "ansible.cli.inventory", "--list", "--inventory", str(path))
    try:
        with TemporaryDirectory(prefix="netlab-ansible-") as home:
            # without a file of settings of its own it obeys the one in the working directory
            settings = write_text(Path(home) / "ansible.cfg", "")
            done = subprocess.run(
                argv,
                env={
                    **os.environ,
                    **SETTINGS,
                    "ANSIBLE_CONFIG": str(settings),
                    "ANSIBLE_HOME": home,
                    # any other plugin would run an executable inventory
                    "ANSIBLE_INVENTORY_ENABLED": plugin,
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=READ_S,
                check=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        text = f"is not an Ansible inventory: {' '.join(reason.split())[:500]}"
        raise BadInput(text, where=str(path), code="E-FLEET-006") from None
    groups = parse_json(done.stdout, str(path))
    variables = groups.pop("_meta")["hostvars"]
    members: dict[str, dict[str, None]] = {}

    def walk(name: str) -> dict[str, None]:
        """Hosts of a group and of those below it; each group before those in it."""
        members[name] = {}
        names = dict.fromkeys(groups.get(name, {}).get("hosts", ()))
        for child in groups.get(name, {}).get("children", ()):
            names |= walk(child)
        members[name] = names
        return names

    return {
        "hosts": {
            host: _host(path, host, variables.get(host, {}))
            | {"groups": [n for n, some in members.items() if host in some and n not in EVERY]}
            for host in walk("all")
        }
    }


def _host(path: Path, host: str, variables: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"labels": {}}
    for key, value in variables.items():
        if isinstance(value, str) and "{{" in value and key in SSH:
            text = f"{host}: {key}: templates are not evaluated"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-007")
        if key == "ansible_connection" and value not in ("ssh", "smart", "paramiko"):
            text = f"{host}: netlab reaches hosts over SSH only"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-008")
        if key == "ansible_port" and not str(value).isdecimal():
            text = f"{host}: ansible_port: expected a number"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-009")
        if key in SSH:
            fields[SSH[key]] = int(value) if key == "ansible_port" else str(value)
        elif isinstance(value, str | int | float) and not key.startswith("ansible_"):
            fields["labels"][key] = str(value)
    return fields


# Hosts from an SSH configuration.

OWN = Path("~/.ssh/config")


def from_ssh_config(path: Path) -> dict[str, Any]:
    """Hosts that an SSH configuration names, without patterns, as netlab's own file has them.

    Of the user's own configuration they are aliases. Of another file, address, user, port and key
    are taken; a host that needs a proxy must be in the user's own.
    """
    from netlab.hosts.aliases import aliases  # paramiko, which no job needs this early

    resolved = aliases(path)
    if path.expanduser().resolve() == OWN.expanduser().resolve():
        return {"hosts": {name: {} for name in resolved}}
    hosts = {}
    for name, settings in resolved.items():
        if settings.needs_proxy:
            text = "needs a proxy, which only ~/.ssh/config can give"
            raise BadInput(text, where=f"{path}:{settings.line}", value=name, code="E-FLEET-018")
        hosts[name] = settings.said
    return {"hosts": hosts}


# Hosts of a fleet with groups and labels: the model, and its own YAML file.

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


# Pairs of hosts by rule, and rounds of pairs that share no host.

Pair = tuple[str, str]
RULES = ("all", "ring", "star=HOST", "given", "A:B,C:D")


def pairs_of(inventory: Inventory, rule: str = "") -> tuple[Pair, ...]:
    names = list(inventory.hosts)
    rule = rule or ("given" if inventory.pairs else "ring")
    head, _, rest = rule.partition("=")
    if rule == "all":
        return tuple(_circle(names))
    if rule == "ring":
        return ring(names)
    if rule == "given":
        check(inventory.pairs, "pairs", None, "the inventory has no pairs", "E-FLEET-019")
        return inventory.pairs
    if head == "star":
        return tuple((_known(inventory, rest), other) for other in names if other != rest)
    if ":" in rule:
        return _listed(inventory, rule)
    text = f"unknown rule; allowed: {', '.join(RULES)}"
    raise BadInput(text, key="pairs", value=rule, code="E-FLEET-020")


def ring(names: Sequence[str]) -> tuple[Pair, ...]:
    """Each host with the next, and the last with the first; two hosts are one pair."""
    following = [*names[1:], names[0]]
    return tuple(zip(names, following, strict=True))[: 1 if len(names) == 2 else None]


def _listed(inventory: Inventory, rule: str) -> tuple[Pair, ...]:
    pairs_by_ends: dict[frozenset[str], Pair] = {}
    for text in rule.split(","):
        one, _, other = text.partition(":")
        pair = (_known(inventory, one), _known(inventory, other))
        fine = one != other and frozenset(pair) not in pairs_by_ends
        check(fine, "pairs", text, "expected two hosts, each pair once", "E-FLEET-021")
        pairs_by_ends[frozenset(pair)] = pair
    return tuple(pairs_by_ends.values())


def _known(inventory: Inventory, name: str) -> str:
    check(name in inventory.hosts, "pairs", name, "unknown host", "E-FLEET-022")
    return name


def rounds_of(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Distribute pairs over rounds in which a host is in one pair at most.

    Each pair goes in its order into the first round with both hosts free, in fewer than twice the
    rounds that the busiest host needs.
    """
    rounds: list[list[Pair]] = []
    busy: list[set[str]] = []
    for pair in pairs:
        at = next((at for at, taken in enumerate(busy) if taken.isdisjoint(pair)), len(busy))
        if at == len(busy):
            rounds.append([])
            busy.append(set())
        rounds[at].append(pair)
        busy[at].update(pair)
    return tuple(map(tuple, rounds))


def _circle(names: Sequence[str]) -> Iterator[Pair]:
    """All pairs by the circle method: one name stays, the others turn by one each round.

    Rounds of them are a Latin square, in which no host waits: n - 1 of n hosts, n if that is odd.
    """
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    order = {name: at for at, name in enumerate(names)}
    for _ in range(len(seats) - 1):
        for pair in zip(seats[: len(seats) // 2], reversed(seats), strict=False):
            ends = [name for name in pair if name is not None]
            if len(ends) == 2:
                one, other = sorted(ends, key=order.__getitem__)
                yield one, other
        seats = [seats[0], seats[-1], *seats[1:-1]]
