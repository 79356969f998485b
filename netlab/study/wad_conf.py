"""Parse ``wad.conf``, the configuration of the tuning daemon of 2003, as a study's stacks.

WAD, the Work Around Daemon of the Net100 project, set variables of a Web100 kernel for flows that
match an entry. An entry is a name in brackets, then ``key: value`` lines, as the SLAC page prints
one for its HighSpeed TCP tests. The meaning of the keys is from Net100's page on WAD: with
``floyd`` the kernel takes increase and decrease from RFC 3649 in place of ``wadai`` and
``wadmd``; ``maxssth`` is RFC 3742's limited slow start.

A study names a file beside it: ``stacks: {mine: {wad_conf: wad.conf, entry: GVA}}``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from netlab.errors import BadInput
from netlab.files.reading import open_regular
from netlab.files.yaml_file import validated
from netlab.study.base import Model
from netlab.study.stacks import Stack
from netlab.tuning.knobs import key

MAX_BYTES = 1 << 16
_HEAD = re.compile(r"\[([^\[\]]+)\]")
_DECIMAL = re.compile(r"(\d{1,9}(\.\d{0,6})?|\.\d{1,6})")
UNMODELLED = {
    "mode": "overriding a flow's own buffer sizes; netlab sets them for every run",
    "wad_ifq": "reaction to a full interface queue; Linux today does not treat it as a loss",
    "divide": "sharing the buffers among a host's flows; netlab sets them for every stream",
}
"""Keys without a counterpart in today's kernel and netlab: meaning and reason."""

FROM_STUDY = ("src_addr", "src_port", "dst_addr", "dst_port", "sndbuf", "rcvbuf")
"""Keys that a study sets elsewhere: its groups choose the flows and their buffers."""


class WadStack(Model, title="`stacks.NAME`, from a wad.conf"):
    """A congestion control of a study that an entry of a ``wad.conf`` defines."""

    wad_conf: str = key("A wad.conf beside the study.", "wad.conf")
    entry: str | None = key("Its entry, where it has several.", "GVA", None)


def _whole(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > most:
            raise ValueError(f"must be a whole number from 0 to {most}")
        return int(text)

    return parse


def _decimal(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not _DECIMAL.fullmatch(text) or float(text) > most:
            raise ValueError(f"must be a decimal number from 0 to {most:g}")
        return float(text)

    return parse


def _address(text: str) -> str:
    try:
        ipaddress.ip_network(text or "::", strict=False)
    except ValueError:
        reason = "must be an address, with or without a prefix length, or empty"
        raise ValueError(reason) from None
    return text


def _key(parse: Callable[[str], Any], default: Any = 0) -> Any:
    """A key of an entry, with the parser of its value."""
    return field(default=default, metadata={"parse": parse})


@dataclass(frozen=True)
class WadEntry:
    """One entry of a ``wad.conf``."""

    name: str
    src_addr: str = _key(_address, "")
    src_port: int = _key(_whole(65535))
    dst_addr: str = _key(_address, "")
    dst_port: int = _key(_whole(65535))
    mode: int = _key(_whole(2))
    sndbuf: int = _key(_whole(2**30))
    rcvbuf: int = _key(_whole(2**30))
    wadai: float = _key(_decimal(1000), 0.0)
    wadmd: float = _key(_decimal(0.999999), 0.0)
    maxssth: int = _key(_whole(1_000_000))
    wad_ifq: int = _key(_whole(2))
    divide: int = _key(_whole(1))
    floyd: int = _key(_whole(2))

    def stack(self) -> Stack:
        """Window law of the entry, as a study defines it."""
        limit: dict[str, Any] = {"max_ssthresh_segments": self.maxssth} if self.maxssth else {}
        if self.floyd:
            return Stack(law="highspeed", **limit)
        return Stack(law="aimd", increase=self.wadai or None, decrease=self.wadmd or None, **limit)

    def overridden(self) -> dict[str, float]:
        """Keys of the entry that ``floyd`` overrides, with their values."""
        own = {"wadai": self.wadai, "wadmd": self.wadmd}
        return {key: value for key, value in own.items() if value} if self.floyd else {}

    def unmodelled(self) -> dict[str, str]:
        """Keys other than 0 without a counterpart, each with the reason."""
        return {key: reason for key, reason in UNMODELLED.items() if getattr(self, key)}

    def notes(self) -> str:
        """Keys of the entry that the stack does not reproduce, in a sentence; may be empty."""
        parts = [f"{key} (overridden by floyd)" for key in self.overridden()]
        parts += [f"{key} ({reason})" for key, reason in self.unmodelled().items()]
        parts += [f"{key} (set by the study)" for key in FROM_STUDY if getattr(self, key)]
        return f"Not taken from wad.conf [{self.name}]: {', '.join(parts)}." if parts else ""


def with_wad_conf(content: dict, study_file: Path) -> dict:
    """Resolve the stacks of a study that refer to a ``wad.conf``."""
    own_stacks = content.get("stacks")
    stacks = own_stacks if isinstance(own_stacks, dict) else {}
    entries = {
        name: _entry(name, stack, study_file)
        for name, stack in stacks.items()
        if isinstance(stack, dict) and "wad_conf" in stack
    }
    if not entries:
        return content
    resolved = {
        name: entry.stack().model_dump(exclude_none=True) for name, entry in entries.items()
    }
    texts = [content.get("description"), *(entry.notes() for entry in entries.values())]
    description = " ".join(text.strip() for text in texts if isinstance(text, str) and text)
    return {**content, "stacks": {**stacks, **resolved}, "description": description}


def _entry(name: str, reference: dict, study_file: Path) -> WadEntry:
    where = str(study_file)
    stack = validated(WadStack, reference, f"{where}: stacks.{name}")
    entries = {entry.name: entry for entry in read_wad(study_file.parent / stack.wad_conf)}
    wanted = stack.entry or (next(iter(entries)) if len(entries) == 1 else None)
    if wanted not in entries:
        problem = f"choose an entry of {stack.wad_conf}: {', '.join(entries)}"
        at = f"stacks.{name}.entry"
        raise BadInput(problem, where=where, key=at, value=wanted, code="E-STUDY-009")
    return entries[wanted]


def parse_wad(text: str, *, where: str = "wad.conf") -> tuple[WadEntry, ...]:
    """Parse the text of a ``wad.conf``."""
    parsers = {each.name: each.metadata["parse"] for each in fields(WadEntry) if each.metadata}
    entries: dict[str, dict[str, Any]] = {}
    name = ""

    def bad(number: int, reason: object, *, code: str, **found: Any) -> BadInput:
        return BadInput(f"line {number}: {reason}", where=where, code=code, **found)

    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            name = head[1].strip()
            if not name or name in entries:
                raise bad(number, "an entry needs an unused name", code="E-STUDY-010")
            entries[name] = {}
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or not entries:
            wanted = "[NAME] or key: value" if entries else "[NAME]"
            raise bad(number, f"must be {wanted}", value=line, code="E-STUDY-011")
        if key not in parsers:
            allowed = f"allowed are {', '.join(parsers)}"
            raise bad(number, f"unknown key; {allowed}", key=key, code="E-STUDY-012")
        if key in entries[name]:
            raise bad(number, f"given twice in [{name}]", key=key, code="E-STUDY-013")
        try:
            entries[name][key] = parsers[key](value)
        except ValueError as problem:
            raise bad(number, problem, key=key, value=value, code="E-STUDY-014") from None
    if not entries:
        raise BadInput("contains no entry [NAME]", where=where, code="E-STUDY-015")
    return tuple(WadEntry(name=name, **values) for name, values in entries.items())


def read_wad(path: Path | str) -> tuple[WadEntry, ...]:
    where = str(path)
    try:
        with open_regular(path) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror}"
        raise BadInput(reason, where=where, code="E-STUDY-016") from None
    if len(raw) > MAX_BYTES:
        raise BadInput("is over 64 KiB, the largest size allowed", where=where, code="E-STUDY-017")
    try:
        return parse_wad(raw.decode("utf-8"), where=where)
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where, code="E-STUDY-018") from None
