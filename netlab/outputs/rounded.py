"""Rounded numbers in the output of tools, with binary or decimal units."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import BadInput
from netlab.outputs.records import MAX_COUNT, MAX_LINE, MAX_RATE_BPS, MAX_SECONDS, Record, expect

NUMBER = r"[0-9]{1,19}(?:\.[0-9]{1,12})?"
BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Printed:
    """A number and half a unit of its last printed digit; of a sum, those of its parts."""

    value: float
    error: float

    @classmethod
    def read(cls, text: str, scale: float = 1.0) -> Printed:
        """Read a decimal number; its error follows from the digits that were printed."""
        decimals = len(text.partition(".")[2])
        return cls(float(text) * scale, 0.5 * 10.0**-decimals * scale)

    def __add__(self, other: Printed) -> Printed:
        return Printed(self.value + other.value, self.error + other.error)

    def __sub__(self, other: Printed) -> Printed:
        return Printed(self.value - other.value, self.error + other.error)

    def scaled(self, scale: float) -> Printed:
        return Printed(self.value * scale, self.error * scale)

    def agrees(self, value: float, error: float = 0.0) -> bool:
        """True if another figure of the same quantity is within both errors (and 0.1 %)."""
        return abs(self.value - value) <= self.error + error + 1e-3 * abs(value)


NOTHING = Printed(0.0, 0.0)


def check_rate(line: int, amount_B: Printed, time_s: Printed, rate_Bps: Printed) -> None:
    """Refuse a line whose amount, time and rate disagree."""
    long = f"implausible time of {time_s.value} s"
    expect(0 < time_s.value <= MAX_SECONDS, line, long, "E-IMPORT-077")
    plausible = 0 <= amount_B.value < MAX_COUNT and rate_Bps.value < MAX_RATE_BPS
    expect(plausible, line, "implausible amount or rate", "E-IMPORT-078")
    # a time shorter than its rounding error does not bound the rate
    low = max(0.0, amount_B.value - amount_B.error) / (time_s.value + time_s.error)
    least_s = time_s.value - time_s.error
    high = (amount_B.value + amount_B.error) / least_s if least_s > 0 else math.inf
    slack = rate_Bps.error + 1e-3 * rate_Bps.value
    agree = low - slack <= rate_Bps.value <= high + slack
    expect(agree, line, "amount, time and rate do not agree", "E-IMPORT-079")


@dataclass
class PrintedRun(ABC):
    """One run of a tool that prints lines, while it is parsed."""

    first: int
    failed: BadInput | None = None
    """Why the run is refused; lines up to its end are still its own."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Fields of its record that are known so far."""

    def next(self, number: int) -> PrintedRun:
        return type(self)(number)

    @abstractmethod
    def is_over_at(self, line: str) -> bool:
        """True if a line is the first of another run."""

    @abstractmethod
    def take(self, number: int, line: str) -> None:
        """Parse a line, or refuse it."""

    @abstractmethod
    def record(self) -> Record: ...


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; blanks at the ends of lines and empty lines do not count."""
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if line := line.strip():
            yield number, line


def printed_runs(text: str, kind: type[PrintedRun]) -> list[PrintedRun | BadInput]:
    runs: list[PrintedRun] = []
    for number, line in numbered(text):
        expect(len(line) <= MAX_LINE, number, f"a line of {len(line)} characters", "E-IMPORT-146")
        if not runs or runs[-1].is_over_at(line):
            runs.append(runs[-1].next(number) if runs else kind(number))
        try:
            runs[-1].take(number, line)
        except BadInput as error:
            runs[-1].failed = runs[-1].failed or error
    expect(runs, 1, "nothing to import", "E-IMPORT-027")
    return [run.failed or run for run in runs]
