"""Rounded numbers in the output of tools, with binary or decimal units."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from netlab.results.imports.records import MAX_COUNT, MAX_RATE_BPS, MAX_SECONDS, damaged

NUMBER = r"[0-9]{1,19}(?:\.[0-9]{1,12})?"
BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DECIMAL = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Printed:
    """A number and half a unit of its last printed digit."""

    value: float
    error: float

    @classmethod
    def read(cls, text: str, scale: float = 1.0) -> Printed:
        """Read a decimal number; its error follows from the digits that were printed."""
        decimals = len(text.partition(".")[2])
        return cls(float(text) * scale, 0.5 * 10.0**-decimals * scale)

    def agrees(self, value: float, error: float = 0.0) -> bool:
        """True if another figure of the same quantity is within both errors (and 0.1 %)."""
        return abs(self.value - value) <= self.error + error + 1e-3 * abs(value)


def check_rate(line: int, amount_B: Printed, time_s: Printed, rate_Bps: Printed) -> None:
    """Refuse a line whose amount, time and rate disagree."""
    if not 0 < time_s.value <= MAX_SECONDS:
        raise damaged(line, f"implausible time of {time_s.value} s", code="E-IMPORT-077")
    # a time shorter than its rounding error does not bound the rate
    if not (0 <= amount_B.value < MAX_COUNT and rate_Bps.value < MAX_RATE_BPS):
        raise damaged(line, "implausible amount or rate", code="E-IMPORT-078")
    low = max(0.0, amount_B.value - amount_B.error) / (time_s.value + time_s.error)
    least_s = time_s.value - time_s.error
    high = (amount_B.value + amount_B.error) / least_s if least_s > 0 else math.inf
    slack = rate_Bps.error + 1e-3 * rate_Bps.value
    if not low - slack <= rate_Bps.value <= high + slack:
        raise damaged(line, "amount, time and rate do not agree", code="E-IMPORT-079")


def lines_of(text: str) -> list[tuple[int, str]]:
    """Numbered lines without blanks at the ends; empty lines are omitted."""
    numbered = enumerate(re.split(r"\r\n|\n|\r", text), start=1)
    return [(number, line.strip()) for number, line in numbered if line.strip()]
