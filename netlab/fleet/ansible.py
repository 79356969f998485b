"""Hosts from an Ansible inventory, in its INI or its YAML form."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlab.errors import BadInput
from netlab.files.yaml_file import MAX_BYTES, Document

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
