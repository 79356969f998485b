"""Who takes part in a benchmark, and between which variants each may choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from netlab.generators.tools import Variant
from netlab.qualify.bench.installed import Installed
from netlab.study.socket import Engine, Receive, Send
from netlab.units import KIB, MIB, size

GENSINK = "gensink"
"""The name under which netlab's own core takes part."""

RECORD_LENGTH_B = 128 * KIB
"""Of every tool, where they are to be alike: iperf3's and iperf's own."""

Mode = Literal["same", "best"]
"""``same``: one record length, every byte copied out. ``best``: whatever suits each tool."""


@dataclass(frozen=True)
class OwnVariant:
    """One way to run gensink; the words are those of a study."""

    record_length_B: int
    send: Send = "copy"
    receive: Receive = "discard"
    engine: Engine = "auto"

    @property
    def label(self) -> str:
        """Its name: how it sends and how it receives, and its records."""
        engine = "" if self.engine == "auto" else f"{self.engine} "
        return f"{engine}{self.send}/{self.receive} {size(self.record_length_B)}"


OWN_SAME = OwnVariant(RECORD_LENGTH_B, receive="copy")
OWN_VARIANTS = (
    OwnVariant(MIB, "copy"),
    OwnVariant(MIB, "splice"),
    OwnVariant(256 * KIB, "copy"),
    OwnVariant(256 * KIB, "splice"),
)
"""The likeliest to be its best first, as in :class:`~netlab.generators.tools.Tool`."""


@dataclass(frozen=True)
class Contender:
    """One that takes part.

    Parameters
    ----------
    name : str
        As in the tables.
    same : OwnVariant or Variant
        How it runs where all are to be alike.
    best : tuple of OwnVariant or of Variant
        Between which it chooses where it may; never empty.
    max_streams : int or None
        Most streams it can run at once.
    """

    name: str
    same: OwnVariant | Variant
    best: tuple[OwnVariant | Variant, ...]
    max_streams: int | None = None

    def variants(self, mode: Mode) -> tuple[OwnVariant | Variant, ...]:
        """Those it has in a mode."""
        return self.best if mode == "best" else (self.same,)


def contenders(peers: Sequence[Installed]) -> tuple[Contender, ...]:
    """netlab's own and the other tools, as they take part."""
    own = Contender(GENSINK, OWN_SAME, OWN_VARIANTS)
    tools = (peer.tool for peer in peers)
    alike = Variant(RECORD_LENGTH_B)
    return (own, *(Contender(t.name, alike, t.variants, t.max_streams) for t in tools))
