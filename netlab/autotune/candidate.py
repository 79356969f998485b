"""A candidate: one choice of everything that a search may choose."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from netlab.units import size

ENGINE_WORDS = {
    "send": ("copy", "zerocopy", "sendfile", "splice"),
    "receive": ("copy", "discard", "splice", "zerocopy"),
    "engine": ("blocking", "epoll", "uring"),
}
"""Options of a run that are words, and the words that a search may try where the core has them."""


@dataclass(frozen=True)
class Candidate:
    """Record length, socket buffer, streams and engine of a run.

    Parameters
    ----------
    record_length_B : int
        Bytes of one send or recv call.
    buffer_B : int
        Socket buffers asked for; 0 leaves them to the kernel's autotuning.
    receive_buffer_B : int, optional
        The receiver's, where a study has another for it.
    streams : int
        Parallel TCP streams.
    words : tuple of (str, str)
        Option and word of :data:`ENGINE_WORDS`, sorted; only options that the core has.
    """

    record_length_B: int
    buffer_B: int
    streams: int
    words: tuple[tuple[str, str], ...] = ()
    receive_buffer_B: int | None = None

    def level(self, factor: str) -> int | str:
        """The level of a factor: a field, or an option of the engine."""
        return self.as_dict()[factor]

    def at(self, factor: str, level: int | str) -> Candidate:
        """The same with one factor at another level; another buffer is that of both ends."""
        if level == self.level(factor):
            return self
        if factor in ENGINE_WORDS:
            words = {**dict(self.words), factor: str(level)}
            return replace(self, words=tuple(sorted(words.items())))
        if factor == "buffer_B":
            return replace(self, buffer_B=int(level), receive_buffer_B=None)
        return replace(self, **{factor: level})

    def as_dict(self) -> dict[str, int | str]:
        """One flat row of factor to level."""
        row = {name: level for name, level in asdict(self).items() if level is not None}
        row.pop("words")
        return {**row, **dict(self.words)}

    def label(self) -> str:
        """All of it in a few words."""
        levels = [shown(name, level) for name, level in self.as_dict().items()]
        return ", ".join(levels)

    @property
    def discards(self) -> bool:
        """Whether it does less work than a program that needs the bytes."""
        return any(name in ("send", "receive") and word != "copy" for name, word in self.words)


def shown(factor: str, level: int | str) -> str:
    """A level as people say it."""
    if factor == "streams":
        return f"{level} stream" + ("" if level == 1 else "s")
    if factor == "record_length_B":
        return f"records of {size(int(level))}"
    if factor == "buffer_B":
        return f"buffers of {size(int(level))}" if level else "the kernel's own buffers"
    if factor == "receive_buffer_B":
        return (
            f"the receiver's of {size(int(level))}" if level else "the receiver's the kernel's own"
        )
    return f"{factor} {level}"
