"""Read ``wad.conf``, in which 2003's tuning daemon was told how flows should behave.

WAD, the Work Around Daemon of the Net100 project, set variables of a Web100 kernel for flows that
fit an entry. An entry is a name in brackets, then ``key: value`` lines, as the SLAC page prints
one for its HighSpeed TCP tests. What the keys mean is from Net100's page on WAD: with ``floyd``
the kernel takes increase and decrease from RFC 3649 in place of ``wadai`` and ``wadmd``;
``maxssth`` is RFC 3742's limited slow start.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import BadInput
from netlab.study import Stack

MAX_BYTES = 1 << 16
_HEAD = re.compile(r"\[([^\[\]]+)\]")
_DECIMAL = re.compile(r"(\d{1,9}(\.\d{0,6})?|\.\d{1,6})")
UNMODELLED = {
    "mode": "whether a flow's own buffer sizes were overridden: netlab sets them for every run",
    "wad_ifq": "what a full queue of the interface did: Linux today does not take it for a loss",
    "divide": "sharing the buffers among a host's flows: netlab sets them for every stream",
}
"""Keys that today's kernel and netlab have no counterpart for, and why that is."""


@dataclass(frozen=True)
class WadEntry:
    """One entry of a ``wad.conf``.

    Parameters
    ----------
    name : str
        In brackets at its head.
    src_addr, dst_addr : str
        Address and prefix length of the flows' ends; empty for any.
    src_port, dst_port : int
        Their ports; 0 for any.
    mode, wad_ifq, divide : int
        See :data:`UNMODELLED`.
    sndbuf, rcvbuf : int
        Socket buffers, bytes; 0 leaves them.
    wadai : float
        Segments gained in a round trip; 0 leaves Reno's 1.
    wadmd : float
        Share of the window given up at a loss; 0 leaves Reno's half.
    maxssth : int
        Limited slow start above so many segments; 0 for none.
    floyd : int
        1 or 2: increase and decrease of HighSpeed TCP (2: updated every 0.1 s by the daemon).
    """

    name: str
    src_addr: str = ""
    src_port: int = 0
    dst_addr: str = ""
    dst_port: int = 0
    mode: int = 0
    sndbuf: int = 0
    rcvbuf: int = 0
    wadai: float = 0.0
    wadmd: float = 0.0
    maxssth: int = 0
    wad_ifq: int = 0
    divide: int = 0
    floyd: int = 0

    def stack(self) -> Stack:
        """The window law that the entry asks for, as a study defines it."""
        limit = {"max_ssthresh_segments": self.maxssth} if self.maxssth else {}
        if self.floyd:
            return Stack(law="highspeed", **limit)
        changed = {"increase": self.wadai, "decrease": self.wadmd}
        return Stack(law="aimd", **{key: value for key, value in changed.items() if value}, **limit)

    def overruled(self) -> dict[str, float]:
        """What the entry says and ``floyd`` makes of no effect."""
        said = {"wadai": self.wadai, "wadmd": self.wadmd}
        return {key: value for key, value in said.items() if value} if self.floyd else {}

    def unmodelled(self) -> dict[str, str]:
        """Keys the entry sets to other than 0 that have no counterpart, each with the reason."""
        return {key: reason for key, reason in UNMODELLED.items() if getattr(self, key)}


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise ValueError(f"is a whole number from {least} to {most}")
        return int(text)

    return parse


def _decimal(most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        if not _DECIMAL.fullmatch(text) or not 0 <= float(text) <= most:
            raise ValueError(f"is a decimal number from 0 to {most:g}")
        return float(text)

    return parse


def _address(text: str) -> str:
    if text:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise ValueError("is an address with or without a prefix length, or empty") from None
    return text


_KEYS: dict[str, Callable[[str], object]] = {
    "src_addr": _address,
    "src_port": _whole(0, 65535),
    "dst_addr": _address,
    "dst_port": _whole(0, 65535),
    "mode": _whole(0, 2),
    "sndbuf": _whole(0, 2**30),
    "rcvbuf": _whole(0, 2**30),
    "wadai": _decimal(1000),
    "wadmd": _decimal(0.999999),
    "maxssth": _whole(0, 1_000_000),
    "wad_ifq": _whole(0, 2),
    "divide": _whole(0, 1),
    "floyd": _whole(0, 2),
}


def parse_wad(text: str, *, where: str = "wad.conf") -> tuple[WadEntry, ...]:
    """Read the text of a ``wad.conf``.

    Parameters
    ----------
    text : str
        Entries; empty lines and lines that begin with ``#`` are passed over.
    where : str
        File name, for messages.

    Raises
    ------
    BadInput
        A line that is no entry's head and no ``key: value``, a key that is unknown or given
        twice, a value out of its form, an entry of a name that was there, or no entry at all.
    """
    entries: dict[str, dict[str, object]] = {}
    current: dict[str, object] | None = None
    name = ""
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if head := _HEAD.fullmatch(line):
            name = head[1].strip()
            if not name or name in entries:
                raise BadInput(f"line {number}: an entry needs a name of its own", where=where)
            current = entries[name] = {}
            continue
        key, colon, value = (part.strip() for part in line.partition(":"))
        if not colon or current is None:
            wanted = "[NAME] or key: value" if current is not None else "[NAME]"
            raise BadInput(f"line {number}: is not {wanted}", where=where, value=line)
        if key not in _KEYS:
            raise BadInput(
                f"line {number}: is no key of wad.conf: {', '.join(_KEYS)}", where=where, key=key
            )
        if key in current:
            raise BadInput(f"line {number}: is given twice in [{name}]", where=where, key=key)
        try:
            current[key] = _KEYS[key](value)
        except ValueError as problem:
            raise BadInput(f"line {number}: {problem}", where=where, key=key, value=value) from None
    if not entries:
        raise BadInput("holds no entry [NAME]", where=where)
    return tuple(WadEntry(name=name, **values) for name, values in entries.items())


def read_wad(path: Path | str) -> tuple[WadEntry, ...]:
    """Read a ``wad.conf`` file; see :func:`parse_wad`.

    Raises
    ------
    BadInput
        It cannot be read, is over 64 KiB, is not UTF-8, or does not parse.
    """
    where = str(path)
    try:
        with open(path, "rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=where) from None
    if len(raw) > MAX_BYTES:
        raise BadInput("is over 64 KiB, too large to be meant", where=where)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("is not UTF-8 text", where=where) from None
    return parse_wad(text, where=where)
