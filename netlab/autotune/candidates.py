"""Candidates: the settings that a search chooses, and the levels of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from netlab import core
from netlab.errors import BadInput, CoreError
from netlab.units import KIB, MIB, size

ENGINE_WORDS = {
    "send": ("copy", "zerocopy", "sendfile", "splice"),
    "receive": ("copy", "discard", "splice", "zerocopy"),
    "engine": ("blocking", "epoll", "plain"),
}
"""Options of a run with words as values, and the words that a search tries if the core has them."""


@dataclass(frozen=True)
class Candidate:
    """Record length, socket buffer, streams and engine of a run."""

    record_length_B: int
    buffer_B: int
    streams: int
    words: tuple[tuple[str, str], ...] = ()
    receive_buffer_B: int | None = None

    def level(self, factor: str) -> int | str:
        """The level of a factor: a field, or an option of the engine."""
        return self.as_dict()[factor]

    def at(self, factor: str, level: int | str) -> Candidate:
        """A copy with one factor at another level; a changed buffer applies to both ends."""
        if level == self.level(factor):
            return self
        if factor in ENGINE_WORDS:
            words = {**dict(self.words), factor: str(level)}
            return replace(self, words=tuple(sorted(words.items())))
        if factor == "buffer_B":
            return replace(self, buffer_B=int(level), receive_buffer_B=None)
        fields: dict[str, Any] = {factor: level}
        return replace(self, **fields)

    def as_dict(self) -> dict[str, int | str]:
        """Factor to level, as one flat row."""
        row = {name: level for name, level in asdict(self).items() if level is not None}
        row.pop("words")
        return {**row, **dict(self.words)}

    def label(self) -> str:
        """All levels as text."""
        levels = [shown(name, level) for name, level in self.as_dict().items()]
        return ", ".join(levels)

    @property
    def discards(self) -> bool:
        """True if it does not copy every byte."""
        return any(name in ("send", "receive") and word != "copy" for name, word in self.words)


def shown(factor: str, level: int | str) -> str:
    """A level as text."""
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


RECORD_LENGTHS_B = tuple(4 * KIB << step for step in range(11))
LEAST_BUFFER_B, USUAL_BUFFER_B, MOST_BUFFER_B = 64 * KIB, 4 * MIB, 256 * MIB
BUFFER_STEP = 4
MOST_STREAMS = 64
REACH = 2
FILES_SPARE = 64
"""Open files that an agent needs besides its streams."""

OPTION = {"record_length_B": "record_B", "buffer_B": "buffer_B", "streams": "streams"}
"""The core's option of each numeric factor; the core has the limits."""

_REQUIRED: dict[str, dict[str, Any]] = {
    "sink": {"bind": "127.0.0.1"},
    "gen": {"to": "127.0.0.1", "port": 1},
}


@dataclass(frozen=True)
class PathLimits:
    """Limits of a path, from its first run."""

    bdp_B: float | None = None
    granted_B: int | None = None
    rate_MBps: float | None = None
    cpus: int = 1
    open_files: int | None = None


def factors(
    start: Candidate,
    found: PathLimits,
    *,
    engines: str = "same",
    given: Mapping[str, Sequence[int]] | None = None,
) -> tuple[dict[str, tuple], dict[str, str]]:
    """Levels of each factor, including the current one."""
    given = given or {}
    raced: dict[str, Sequence] = {
        "record_length_B": given.get("record_length_B", RECORD_LENGTHS_B),
        "buffer_B": given.get("buffer_B", buffer_levels(found)),
        "streams": given.get("streams", stream_levels(found)),
    }
    levels = {name: tuple(sorted({*some, start.level(name)})) for name, some in raced.items()}
    refused: dict[str, str] = {}
    for name in engine_options():
        if name == "engine" or engines == "all":
            words, why = engine_levels(name)
            present = start.level(name)
            levels[name] = tuple(dict.fromkeys((present, *words)))
            refused |= why
    return levels, refused


def check_levels(given: Mapping[str, Sequence[int]]) -> None:
    """Validate levels against the core's limits."""
    for name, levels in given.items():
        option = core.options()[OPTION[name]]
        for level in levels:
            if not option.minimum <= level <= option.maximum:
                limits = f"is from {option.minimum} to {option.maximum}"
                raise BadInput(limits, key=name, value=level, code="E-AUTOTUNE-001")


def buffer_levels(found: PathLimits) -> tuple[int, ...]:
    """0, then 64 KiB and multiples by 4 up to twice the bandwidth-delay product, if granted.

    Omit buffers that the link takes over a second to drain: they only delay every run.
    """
    most_B = max(USUAL_BUFFER_B, 2 * BUFFER_STEP * (found.bdp_B or 0))
    most_B = min(most_B, drained_B(found.rate_MBps), found.granted_B or MOST_BUFFER_B)
    levels = [0]
    level = LEAST_BUFFER_B
    while level <= most_B:
        levels.append(level)
        level *= BUFFER_STEP
    if found.granted_B and LEAST_BUFFER_B <= found.granted_B < MOST_BUFFER_B:
        levels.append(found.granted_B)
    return tuple(sorted(set(levels)))


def drained_B(rate_MBps: float | None) -> int:
    """Largest useful buffer: one second of the link rate, within the overall limits."""
    if rate_MBps is None:
        return MOST_BUFFER_B
    return min(MOST_BUFFER_B, max(BUFFER_STEP * LEAST_BUFFER_B, int(rate_MBps * 1e6)))


def stream_levels(found: PathLimits) -> tuple[int, ...]:
    """Powers of two up to four per CPU, at least 8, within the limit of open files."""
    most = min(MOST_STREAMS, max(8, 4 * found.cpus))
    if found.open_files is not None:
        most = min(most, max(1, found.open_files - FILES_SPARE))
    return tuple(1 << step for step in range(most.bit_length()))


def engine_options() -> tuple[str, ...]:
    """Options of :data:`ENGINE_WORDS` that the core has."""
    return tuple(name for name in ENGINE_WORDS if name in core.options())


def engine_levels(name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words of an option that the core accepts, and the reasons for the others."""
    words: list[str] = []
    refused: dict[str, str] = {}
    for word in ENGINE_WORDS[name]:
        try:
            for role in core.options()[name].roles:
                needed: dict[str, Any] = {
                    "run": 1,
                    "token": "0" * 32,
                    "streams": 1,
                    **_REQUIRED[role],
                }
                core.check_options(role, **needed, window_ms=100, record_B=65536, **{name: word})
            words.append(word)
        except CoreError as error:
            refused[f"{name}={word}"] = str(error)
    return tuple(words), refused


def thinned(levels: Sequence, present: object, most: int) -> tuple:
    """At most `most` evenly spread levels; the current one replaces its nearest.

    At least two, since a race needs an opponent.
    """
    most = max(2, most)
    if len(levels) <= most:
        return tuple(levels)
    at = {round(step * (len(levels) - 1) / (most - 1)) for step in range(most)}
    here = levels.index(present)
    if here not in at:
        at.remove(min(at, key=lambda index: abs(index - here)))
        at.add(here)
    return tuple(levels[index] for index in sorted(at))


def neighbours(levels: Sequence, present: object, most: int) -> tuple:
    """The current level and at most `most` neighbours, within two steps.

    Words have no order: all of them are neighbours.
    """
    if any(isinstance(level, str) for level in levels):
        return tuple(levels)
    here = levels.index(present)
    near = sorted(range(len(levels)), key=lambda index: abs(index - here))
    near = [index for index in near[: max(2, most)] if abs(index - here) <= REACH]
    return tuple(levels[index] for index in sorted(near))
