"""The contenders of a benchmark, and the variants of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.generators.tools import Variant
from netlab.qualify.bench.installed import Installed
from netlab.study.socket import Engine, Receive, Send
from netlab.units import KIB, MIB, size

GENSINK, PLAIN = "gensink", "plain"
"""Contender names of netlab's own core: as it sends by itself, and its engine of that name."""

OWN = (GENSINK, PLAIN)
"""Contenders that are not peers: gensink is compared with plain, but plain is never the best peer.
It shows how much of a ratio comes from gensink's options rather than from the sockets and threads
that both have in common."""

RECORD_LENGTH_B = 128 * KIB
"""Record length of all tools in mode ``same``: the default of iperf3 and iperf."""

Mode = Literal["same", "best"]
"""``same``: one record length, every byte copied out. ``best``: the best variant of each tool."""


@dataclass(frozen=True)
class OwnVariant:
    """One way to run netlab's own core, with the options of a study."""

    record_length_B: int
    send: Send = "copy"
    receive: Receive = "discard"
    engine: Engine = "auto"

    @property
    def label(self) -> str:
        """Its name: send method, receive method and record length."""
        engine = "" if self.engine == "auto" else f"{self.engine} "
        return f"{engine}{self.send}/{self.receive} {size(self.record_length_B)}"

    @property
    def copies(self) -> bool:
        """True if an end copies every byte."""
        return "copy" in (self.send, self.receive)


OWN_SAME = OwnVariant(RECORD_LENGTH_B, receive="copy")
OWN_VARIANTS = (
    OwnVariant(MIB, "copy"),
    OwnVariant(MIB, "splice"),
    OwnVariant(256 * KIB, "copy"),
    OwnVariant(256 * KIB, "splice"),
)
"""The most likely best one first, as in :class:`~netlab.generators.tools.Tool`."""

PLAIN_SAME = OwnVariant(RECORD_LENGTH_B, receive="copy", engine="plain")
PLAIN_VARIANTS = (
    OwnVariant(MIB, receive="copy", engine="plain"),
    OwnVariant(RECORD_LENGTH_B, receive="copy", engine="plain"),
)
"""send() and recv() in a loop have one choice: the record length."""


@dataclass(frozen=True)
class Contender:
    """One contender."""

    name: str
    same: OwnVariant | Variant
    best: tuple[OwnVariant | Variant, ...]
    max_streams: int | None = None

    def variants(self, mode: Mode) -> tuple[OwnVariant | Variant, ...]:
        """Its variants in a mode."""
        return self.best if mode == "best" else (self.same,)


def contenders(peers: Sequence[Installed]) -> tuple[Contender, ...]:
    """netlab's own core in two ways, and the other tools."""
    own = (
        Contender(GENSINK, OWN_SAME, OWN_VARIANTS),
        Contender(PLAIN, PLAIN_SAME, PLAIN_VARIANTS),
    )
    tools = (peer.tool for peer in peers)
    alike = Variant(RECORD_LENGTH_B)
    return (*own, *(Contender(t.name, alike, t.variants, t.max_streams) for t in tools))
