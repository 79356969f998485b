"""The hosts of a fleet, from YAML, Ansible or SSH, and the pairs of them to measure."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from netlab.errors import BadInput
from netlab.files.yaml_file import MAX_BYTES, Document, read_yaml, validated
from netlab.study import StudyHost
from netlab.study.base import InterfaceName, Model, Name, misplaced

# Hosts from an Ansible inventory, in its INI or its YAML form.

SSH = {
    "ansible_host": "address",
    "ansible_user": "user",
    "ansible_port": "port",
    "ansible_ssh_private_key_file": "identity_file",
    "netlab_address": "data_address",
    "netlab_interface": "interface",
}
"""Variables that netlab takes, and its own keys for them; scalars of other names are labels."""

MAX_RANGE = 10_000
ALL, UNGROUPED = "all", "ungrouped"
_SECTION = re.compile(r"\[(?P<group>[^\[\]:]+)(?::(?P<kind>hosts|children|vars))?\]")
_RANGE = re.compile(r"\[(?P<first>\w+):(?P<last>\w+)(?::(?P<step>\d+))?\]")
_PORT = re.compile(r"(?P<name>[^:\[\]]+):(?P<port>\d+)")


@dataclass
class _Group:
    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, int] = field(default_factory=dict)  # and the line of each
    vars: dict[str, Any] = field(default_factory=dict)


@dataclass
class _Tree:
    """Groups and hosts of an inventory before variables are inherited."""

    where: Path
    groups: dict[str, _Group] = field(default_factory=dict)
    hosts: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)

    def group(self, name: str) -> _Group:
        return self.groups.setdefault(name, _Group())

    def add(self, group: str, host: str, given: Mapping[str, Any], line: int) -> None:
        self.group(group).hosts[host] = None
        self.hosts.setdefault(host, {}).update(given)
        self.lines.setdefault(host, line)

    def mistake(self, text: str, line: int, value: object, code: str) -> BadInput:
        return BadInput(text, where=f"{self.where}:{line}", value=value, code=code)

    def content(self) -> dict[str, Any]:
        """The hosts as netlab's own file has them."""
        depths = self._depths()
        members = {name: self._members(name) for name in self.groups}
        return {"hosts": {host: self._host(host, depths, members) for host in self.hosts}}

    def _depths(self) -> dict[str, int]:
        """Longest way from the top to each group: a deeper one's variables win."""
        depths = dict.fromkeys(self.groups, 1) | {ALL: 0}
        for _ in range(len(self.groups) + 1):
            before = dict(depths)
            for name, group in self.groups.items():
                for child, line in group.children.items():
                    if child not in self.groups:
                        raise self.mistake("no such group", line, child, code="E-FLEET-005")
                    depths[child] = max(depths[child], depths[name] + 1)
            if depths == before:
                return depths
        name, group = next((n, g) for n, g in self.groups.items() if depths[n] > len(self.groups))
        line = min(group.children.values(), default=1)
        raise self.mistake("the group is its own descendant", line, name, code="E-FLEET-006")

    def _members(self, name: str) -> set[str]:
        group = self.groups[name]
        below = (self._members(child) for child in group.children)
        return set(group.hosts).union(*below)

    def _host(
        self, host: str, depths: dict[str, int], members: dict[str, set[str]]
    ) -> dict[str, Any]:
        groups = sorted(
            (name for name, hosts in members.items() if host in hosts or name == ALL),
            key=lambda name: (depths[name], name),
        )
        merged: dict[str, Any] = {}
        for name in groups:
            merged |= self.groups[name].vars
        merged |= self.hosts[host]
        line = self.lines[host]
        found: dict[str, Any] = {"labels": {}}
        for key, value in merged.items():
            if isinstance(value, str) and "{{" in value and key in SSH:
                text = f"{key}: templates are not evaluated"
                raise self.mistake(text, line, value, code="E-FLEET-007")
            if key == "ansible_connection" and value not in ("ssh", "smart", "paramiko"):
                text = "netlab reaches hosts over SSH only"
                raise self.mistake(text, line, value, code="E-FLEET-008")
            if key == "ansible_port":
                if not str(value).isdecimal():
                    text = "ansible_port: expected a number"
                    raise self.mistake(text, line, value, code="E-FLEET-009")
                found["port"] = int(value)
            elif key in SSH:
                found[SSH[key]] = str(value)
            elif isinstance(value, str | int | float) and not key.startswith("ansible_"):
                found["labels"][key] = str(value)
        found["groups"] = [name for name in groups if name not in (ALL, UNGROUPED)]
        return found


def from_yaml(document: Document, where: Path) -> dict[str, Any]:
    """Hosts of an Ansible inventory in YAML, as netlab's own file has them."""
    tree = _Tree(where)
    tree.group(ALL)
    for name, body in document.items():
        _group_of_yaml(tree, document, (name,), body)
    return tree.content()


def _group_of_yaml(tree: _Tree, document: Document, place: tuple, body: object) -> None:
    name, line = str(place[-1]), document.line(place)
    group = tree.group(name)
    parts = body if body is not None else {}
    if not isinstance(parts, dict) or not set(parts) <= {"hosts", "children", "vars"}:
        text = "a group has the keys hosts, children and vars only"
        raise tree.mistake(text, line, name, code="E-FLEET-010")
    for key, value in parts.items():
        if value is not None and not isinstance(value, dict):
            at = document.line((*place, key))
            raise tree.mistake(f"{name}.{key}: expected a mapping", at, None, code="E-FLEET-011")
    group.vars |= parts.get("vars") or {}
    for pattern, given in (parts.get("hosts") or {}).items():
        at = document.line((*place, "hosts", pattern))
        if given is not None and not isinstance(given, dict):
            text = "the variables of a host are a mapping"
            raise tree.mistake(text, at, pattern, code="E-FLEET-012")
        for host in _expanded(tree, str(pattern), at):
            tree.add(name, host, given or {}, at)
    for child, inner in (parts.get("children") or {}).items():
        below = (*place, "children", child)
        group.children[str(child)] = document.line(below)
        _group_of_yaml(tree, document, below, inner)


def from_ini(path: Path) -> dict[str, Any]:
    """Hosts of an Ansible inventory in INI form, as netlab's own file has them."""
    tree = _Tree(path)
    tree.group(ALL)
    group, kind = UNGROUPED, "hosts"
    for number, text in enumerate(_text(path).splitlines(), start=1):
        words = _words(tree, text, number)
        if not words:
            continue
        if text.lstrip().startswith("["):
            section = _SECTION.fullmatch(words[0]) if len(words) == 1 else None
            if section is None:
                message = "expected [GROUP], [GROUP:children] or [GROUP:vars]"
                raise tree.mistake(message, number, text.strip(), code="E-FLEET-013")
            group, kind = section["group"], section["kind"] or "hosts"
            tree.group(group)
        elif kind == "hosts":
            given = dict(_assignment(tree, word, number) for word in words[1:])
            port = _PORT.fullmatch(words[0])
            if port:
                given.setdefault("ansible_port", port["port"])
            for host in _expanded(tree, port["name"] if port else words[0], number):
                tree.add(group, host, given, number)
        elif kind == "children":
            tree.group(group).children[words[0]] = number
        else:
            key, value = _assignment(tree, text.strip(), number)
            tree.group(group).vars[key.strip()] = value.strip().strip("'\"")
    return tree.content()


def _text(path: Path) -> str:
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) <= MAX_BYTES:
            return raw.decode("utf-8")
        reason = "larger than 1 MiB, the limit"
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError:
        reason = "not UTF-8 text"
    raise BadInput(reason, where=str(path), code="E-FLEET-014")


def _words(tree: _Tree, text: str, line: int) -> list[str]:
    if text.lstrip().startswith((";", "#")):
        return []
    try:
        return shlex.split(text, comments=True)
    except ValueError:
        message = "a quotation mark is not closed"
        raise tree.mistake(message, line, text.strip(), code="E-FLEET-015") from None


def _assignment(tree: _Tree, word: str, line: int) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise tree.mistake("expected KEY=VALUE", line, word, code="E-FLEET-016")
    return key, value


def _expanded(tree: _Tree, pattern: str, line: int) -> Iterator[str]:
    """Names of a pattern such as ``web[01:20].example.org``."""
    found = _RANGE.search(pattern)
    if found is None:
        yield pattern
        return
    head, tail = pattern[: found.start()], pattern[found.end() :]
    items = _items(found["first"], found["last"], int(found["step"] or 1))
    if not items:
        text = f"expected a range that grows, of at most {MAX_RANGE} numbers or letters"
        raise tree.mistake(text, line, pattern, code="E-FLEET-017")
    for item in items:
        for rest in _expanded(tree, tail, line):
            yield f"{head}{item}{rest}"


def _items(first: str, last: str, step: int) -> list[str]:
    """The items of a range; empty if it is not one."""
    if step and first.isdecimal() and last.isdecimal():
        numbers = range(int(first), int(last) + 1, step)
        width = len(first) if first.startswith("0") else 0
        return [str(n).zfill(width) for n in numbers] if len(numbers) <= MAX_RANGE else []
    if step and len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        return [chr(code) for code in range(ord(first), ord(last) + 1, step)]
    return []


# Hosts from an SSH configuration.

OWN = Path("~/.ssh/config")


def from_ssh_config(path: Path) -> dict[str, Any]:
    """Hosts that an SSH configuration names, without patterns, as netlab's own file has them.

    Of the user's own configuration they are aliases. Of another file, address, user, port and key
    are taken; a host that needs a proxy must be in the user's own.
    """
    from netlab.hosts.ssh import aliases  # paramiko, which no job needs this early

    found = aliases(path)
    if path.expanduser().resolve() == OWN.expanduser().resolve():
        return {"hosts": {name: {} for name in found}}
    hosts = {}
    for name, settings in found.items():
        if settings.needs_proxy:
            raise BadInput(
                "needs a proxy, which only ~/.ssh/config can give",
                where=f"{path}:{settings.line}",
                value=name,
                code="E-FLEET-018",
            )
        given = {
            "address": settings.hostname,
            "user": settings.user,
            "port": settings.port,
            "identity_file": settings.identity_file,
        }
        hosts[name] = {key: value for key, value in given.items() if value is not None}
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
        """The host as a study has it."""
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
            if len(chosen) < 2:
                known = sorted({group for host in self.hosts.values() for group in host.groups})
                raise BadInput(
                    f"fewer than two hosts are left; groups are {', '.join(known) or 'none'}",
                    key="only",
                    value=selector,
                    code="E-FLEET-004",
                )
        pairs = tuple(pair for pair in self.pairs if set(pair) <= set(chosen))
        return Inventory(hosts=chosen, pairs=pairs)


def load_inventory(path: Path | str, *, format: Format | None = None) -> Inventory:
    """Read the hosts of a fleet."""
    path = Path(path)
    format = format or _format_of(path)
    if format == "ssh":
        content: dict = from_ssh_config(path)
    elif format == "ini":
        content = from_ini(path)
    else:
        read = read_yaml(path)
        own = format == "netlab" or (format is None and "netlab" in read)
        content = read if own else from_yaml(read, path)
    return validated(Inventory, content, str(path))


def _format_of(path: Path) -> Format | None:
    """Format of a file; None for YAML, whose content decides."""
    if path.suffix in (".yml", ".yaml"):
        return None
    in_ssh = path.parent.name == ".ssh" or path.name in ("ssh_config", "config")
    return "ssh" if in_ssh else "ini"


# Pairs of hosts by rule, and rounds of pairs that share no host.

Pair = tuple[str, str]
RULES = ("all", "ring", "star=HOST", "given", "A:B,C:D")


def pairs_of(inventory: Inventory, rule: str = "") -> tuple[Pair, ...]:
    """The pairs of a rule."""
    names = list(inventory.hosts)
    rule = rule or ("given" if inventory.pairs else "ring")
    head, _, rest = rule.partition("=")
    if rule == "all":
        return tuple(combinations(names, 2))
    if rule == "ring":
        return ring(names)
    if rule == "given":
        if not inventory.pairs:
            raise BadInput("the inventory has no pairs", key="pairs", code="E-FLEET-019")
        return inventory.pairs
    if head == "star":
        return tuple((_known(inventory, rest), other) for other in names if other != rest)
    if ":" in rule:
        return _listed(inventory, rule)
    raise BadInput(
        f"unknown rule; allowed: {', '.join(RULES)}", key="pairs", value=rule, code="E-FLEET-020"
    )


def ring(names: Sequence[str]) -> tuple[Pair, ...]:
    """Each host with the next, and the last with the first; two hosts are one pair."""
    following = [*names[1:], names[0]]
    return tuple(zip(names, following, strict=True))[: 1 if len(names) == 2 else None]


def _listed(inventory: Inventory, rule: str) -> tuple[Pair, ...]:
    found: dict[frozenset[str], Pair] = {}
    for text in rule.split(","):
        one, _, other = text.partition(":")
        pair = (_known(inventory, one), _known(inventory, other))
        if one == other or frozenset(pair) in found:
            raise BadInput(
                "expected two hosts, each pair once", key="pairs", value=text, code="E-FLEET-021"
            )
        found[frozenset(pair)] = pair
    return tuple(found.values())


def _known(inventory: Inventory, name: str) -> str:
    if name not in inventory.hosts:
        raise BadInput("unknown host", key="pairs", value=name, code="E-FLEET-022")
    return name


def rounds_of(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Distribute pairs over rounds in which a host is in one pair at most.

    All pairs of n hosts take n - 1 rounds, n if that is odd: a Latin square (the circle method of
    round-robin tournaments), in which no host waits. Other sets are filled in their order, each
    pair into the first round with both hosts free, in fewer than twice the rounds that the busiest
    host needs.
    """
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    edges = {frozenset(pair): pair for pair in pairs}
    if len(edges) == len(names) * (len(names) - 1) // 2:
        circle = _circle(names)
        return tuple(tuple(edges[frozenset(pair)] for pair in round) for round in circle)
    rounds: list[list[Pair]] = []
    busy: list[set[str]] = []
    for pair in pairs:
        for members, taken in zip(rounds, busy, strict=True):
            if taken.isdisjoint(pair):
                members.append(pair)
                taken.update(pair)
                break
        else:
            rounds.append([pair])
            busy.append(set(pair))
    return tuple(map(tuple, rounds))


def _circle(names: Sequence[str]) -> list[list[Pair]]:
    """All pairs by the circle method: one name stays, the others turn by one each round."""
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found = []
    for _ in range(len(seats) - 1):
        facing = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        found.append([(a, b) for a, b in facing if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found
