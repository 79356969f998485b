"""Rate of a link over time: opportunities to transmit, from a trace file of mahimahi."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from pydantic import model_validator

from netlab.errors import BadInput, why
from netlab.files.reading import open_regular
from netlab.study.base import Model
from netlab.tuning.knobs import key
from netlab.units import ETHERNET_HEADER_B

PACKET_B = 1500
"""Bytes of IP that an opportunity carries; on the link it is a frame."""
MOST_LINES = 1_000_000
MOST_MS = 86_400_000
_ENTRY = re.compile(r"(?:([1-9]\d{0,6})\*)?(\d{1,8})")


class RateTrace(Model, title="`trace`, as a study beside its results has it"):
    """A trace whose file was read; the study beside results holds all of it."""

    file: str = key("Name of its file.", "lte.down", min_length=1, max_length=255)
    opportunities: str = key(
        "Its lines, ms each; `3*7` stands for three of 7.", "0 2*4 9", min_length=1
    )

    @model_validator(mode="after")
    def _ascends(self) -> Self:
        before, count = 0, 0
        for number, ms in self._entries():
            count += number
            if ms < before or ms > MOST_MS or count > MOST_LINES:
                raise ValueError(f"opportunities: {ms} after {before}; expected ascending ms")
            before = ms
        if not before:
            raise ValueError("opportunities: the last one is to be above 0 ms")
        return self

    def _entries(self) -> Iterator[tuple[int, int]]:
        for word in self.opportunities.split():
            if not (match := _ENTRY.fullmatch(word)):
                raise ValueError(f"opportunities: expected ms or NUMBER*ms, not {word[:20]!r}")
            yield int(match[1] or 1), int(match[2])

    @property
    def lines(self) -> list[int]:
        """Time of each opportunity, ms."""
        return [ms for number, ms in self._entries() for _ in range(number)]

    @property
    def mean_Mbps(self) -> float:
        """Mean rate of frames that are full, 10⁶ bit/s."""
        entries = [*self._entries()]
        bits = 8 * (PACKET_B + ETHERNET_HEADER_B) * sum(number for number, _ in entries)
        return round(bits / entries[-1][1] / 1e3, 6)

    @classmethod
    def of(cls, file: str, lines: list[int]) -> Self:
        numbers = ((ms, sum(1 for _ in same)) for ms, same in groupby(lines))
        words = (f"{number}*{ms}" if number > 1 else str(ms) for ms, number in numbers)
        return cls(file=file, opportunities=" ".join(words))


def read_trace(path: Path) -> RateTrace:
    """Read a trace file of mahimahi: a line has the ms of an opportunity, ascending."""

    def refused(reason: str, number: int, value: object, code: str) -> BadInput:
        return BadInput(reason, where=f"{path}:{number}", value=value, code=code)

    lines: list[int] = []
    try:
        with open_regular(path, "r", encoding="utf-8-sig", errors="replace") as file:
            for number, raw in enumerate(file, 1):
                text = raw.strip()
                least = lines[-1] if lines else 0
                digits = text.isascii() and text.isdecimal() and len(text) < 9
                if not (digits and least <= int(text) <= MOST_MS):
                    reason = f"expected the ms of an opportunity, from {least} to {MOST_MS}"
                    raise refused(reason, number, text[:40], "E-STUDY-122")
                if number > MOST_LINES:
                    reason = f"a trace has at most {MOST_LINES} lines"
                    raise refused(reason, number, text, "E-STUDY-123")
                lines.append(int(text))
    except OSError as error:
        reason = f"cannot be read: {why(error)}"
        raise BadInput(reason, where=str(path), code="E-STUDY-124") from None
    if not lines or not lines[-1]:
        reason = "the last line is the time after which a trace begins anew, and above 0 ms"
        raise refused(reason, len(lines) or 1, lines[-1] if lines else "", "E-STUDY-125")
    return RateTrace.of(path.name, lines)


def with_traces(content: dict[str, Any], study_file: Path) -> dict[str, Any]:
    """Read the traces that the emulators of a study name, files relative to the study's."""
    found = content.get("paths")
    paths = found if isinstance(found, Mapping) else {}
    for path in paths.values():
        for part in _emulators(path):
            if isinstance(file := part.get("trace"), str):
                part["trace"] = read_trace(study_file.parent / file).model_dump()
    return content


def _emulators(path: object) -> Iterator[dict[str, Any]]:
    """The emulator of a path that is not validated yet, and its other direction."""
    place: Any = path
    for word in ("link", "emulator", "reverse"):
        place = place.get(word) if isinstance(place, dict) else None
        if word != "link" and isinstance(place, dict):
            yield place
