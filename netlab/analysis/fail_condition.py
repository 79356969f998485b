"""Conditions under which a comparison fails, for continuous integration."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER, Compared
from netlab.errors import check

NOT_SAME, MISSING = f"not {SAME}", "missing"

_NUMBER = r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_FORMS = (
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}|{CANNOT_TELL}|{NO_INTERVAL}|{NOT_SAME}|{MISSING})"),
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}) > {_NUMBER} ?%"),
    re.compile(rf"ratio (?P<sign>[<>]) {_NUMBER}"),
)
GRAMMAR = (
    f"slower, faster, {CANNOT_TELL}, {NO_INTERVAL}, {NOT_SAME}, {MISSING}, slower > N %, "
    "faster > N %, ratio < X or ratio > X"
)


@dataclass(frozen=True)
class Condition:
    """A condition that any cell of a comparison may meet."""

    text: str
    word: str = ""
    sign: str = ""
    bound: float = 1.0

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition, such as ``slower > 5 %``, a bound of 0.95 on the ratio."""
        words = " ".join(text.split())
        match = next(filter(None, (form.fullmatch(words) for form in _FORMS)), None)
        parts = match.groupdict() if match else {}
        number = float(parts.get("number") or 0)
        word, sign = parts.get("word", ""), parts.get("sign", "")
        # no ratio is below 0, and none that is slower by 100 % is above it
        fine = parts and not (word == SLOWER and number >= 100) and not (sign and number == 0)
        message = (
            f"is not a condition; write {GRAMMAR}, with N below 100 for slower and X above 0, "
            "such as --fail-if 'slower > 5 %'"
        )
        check(fine, "fail-if", text, message, "E-ANALYSIS-031")
        if "number" not in parts:
            return cls(words, word=word)
        if sign:
            return cls(words, sign=sign, bound=number)
        slower = word == SLOWER
        return cls(words, "", "<" if slower else ">", (100 + (-number if slower else number)) / 100)

    def met_by(self, compared: Compared) -> pd.DataFrame:
        """Cells with the word, or ranked ones whose whole interval lies beyond the bound."""
        frame = compared.frame
        if self.word == MISSING:
            return compared.only
        if self.word == CANNOT_TELL:  # a cell without an interval is not decided either
            return frame[frame["verdict"].isin((CANNOT_TELL, NO_INTERVAL))]
        if self.word == NOT_SAME:
            return frame[frame["verdict"] != SAME]
        if self.word:
            return frame[frame["verdict"] == self.word]
        beyond = frame["high"] < self.bound if self.sign == "<" else frame["low"] > self.bound
        return frame[frame["ranked"] & beyond]
