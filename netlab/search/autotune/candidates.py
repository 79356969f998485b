"""Candidates: the settings that a search chooses, and the levels of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count, takewhile
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

LAST_RACE = "last race"


@dataclass(frozen=True)
class Candidate:
    record_length_B: int
    buffer_B: int
    streams: int
    receive_buffer_B: int | None = None
    engine: str = "auto"
    receive: str = "copy"
    send: str = "copy"

    def level(self, factor: str) -> Any:
        return getattr(self, factor)

    def at(self, factor: str, level: int | str) -> Candidate:
        """A copy with one factor at another level; a changed buffer applies to both ends."""
        changed: dict[str, Any] = {factor: level}
        if factor == "buffer_B" and level != self.buffer_B:
            changed["receive_buffer_B"] = None
        return replace(self, **changed)

    def as_dict(self) -> dict[str, int | str]:
        return {name: level for name, level in asdict(self).items() if level is not None}

    def label(self) -> str:
        return ", ".join(shown(name, level) for name, level in self.as_dict().items())

    @property
    def discards(self) -> bool:
        """True if it does not copy every byte."""
        return (self.send, self.receive) != ("copy", "copy")


def shown(factor: str, level: int | str) -> str:
    if factor == "streams":
        return f"{level} stream" + ("" if level == 1 else "s")
    if factor == "record_length_B":
        return f"records of {size(int(level))}"
    if factor == "buffer_B":
        return f"buffers of {size(int(level))}" if level else "the kernel's own buffers"
    if factor == "receive_buffer_B":
        own = f"of {size(int(level))}" if level else "the kernel's own"
        return f"the receiver's {own}"
    return f"{factor} {level}"


def named(race: str, candidate: Candidate) -> str:
    """A candidate in a race: its level of the factor, or all levels in the last race."""
    return candidate.label() if race == LAST_RACE else shown(race, candidate.level(race))


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
    raced: dict[str, Sequence[int]] = {
        "record_length_B": RECORD_LENGTHS_B,
        "buffer_B": buffer_levels(found),
        "streams": stream_levels(found),
        **(given or {}),
    }
    levels = {name: tuple(sorted({*some, start.level(name)})) for name, some in raced.items()}
    refused: dict[str, str] = {}
    for name in ENGINE_WORDS if engines == "all" else ("engine",):
        words, why = engine_levels(name)
        levels[name] = tuple(dict.fromkeys((start.level(name), *words)))
        refused |= why
    return levels, refused


def within(key: str, value: float | None, least: float, most: float, *, code: str) -> None:
    """Refuse a number outside its range, also one that is not a number."""
    if value is not None and not least <= value <= most:
        raise BadInput(f"is from {least} to {most}", key=key, value=value, code=code)


def check_levels(given: Mapping[str, Sequence[int]]) -> None:
    for name, levels in given.items():
        option = core.options()[OPTION[name]]
        for level in levels:
            within(name, level, option.minimum, option.maximum, code="E-AUTOTUNE-001")


def buffer_levels(found: PathLimits) -> tuple[int, ...]:
    """0, then 64 KiB and multiples by 4 up to twice the bandwidth-delay product, if granted.

    Omit buffers that the link takes over a second to drain: they only delay every run.
    """
    most_B = max(USUAL_BUFFER_B, 2 * BUFFER_STEP * (found.bdp_B or 0))
    most_B = min(most_B, drained_B(found.rate_MBps), found.granted_B or MOST_BUFFER_B)
    sizes = (LEAST_BUFFER_B * BUFFER_STEP**step for step in count())
    levels = {0, *takewhile(lambda size_B: size_B <= most_B, sizes)}
    if found.granted_B and LEAST_BUFFER_B <= found.granted_B < MOST_BUFFER_B:
        levels.add(found.granted_B)
    return tuple(sorted(levels))


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


def engine_levels(name: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Words of an option that the core accepts, and the reasons for the others."""
    run: dict[str, Any] = {"run": 1, "token": "0" * 32, "streams": 1, "window_ms": 100}
    refused: dict[str, str] = {}
    for word in ENGINE_WORDS[name]:
        try:
            for role in core.options()[name].roles:
                core.check_options(role, **run, **_REQUIRED[role], record_B=65536, **{name: word})
        except CoreError as error:
            refused[f"{name}={word}"] = str(error)
    words = (word for word in ENGINE_WORDS[name] if f"{name}={word}" not in refused)
    return tuple(words), refused


def thinned(levels: Sequence, present: object, most: int) -> tuple:
    """At most `most` even levels, two or more for a race; the current one replaces its nearest."""
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
    """The current level and at most `most` within two steps; all words, which have no order."""
    if any(isinstance(level, str) for level in levels):
        return tuple(levels)
    here = levels.index(present)
    near = sorted(range(len(levels)), key=lambda index: abs(index - here))
    near = [index for index in near[: max(2, most)] if abs(index - here) <= REACH]
    return tuple(levels[index] for index in sorted(near))
