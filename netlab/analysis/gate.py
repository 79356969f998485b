"""Conditions under which a comparison fails, for continuous integration."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pandas as pd

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER, Compared
from netlab.errors import BadInput

NOT_SAME, MISSING = f"not {SAME}", "missing"

_NUMBER = r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_FORMS = (
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}|{CANNOT_TELL}|{NOT_SAME}|{MISSING})"),
    re.compile(rf"(?P<word>{FASTER}|{SLOWER}) > {_NUMBER} ?%"),
    re.compile(rf"ratio (?P<sign>[<>]) {_NUMBER}"),
)
GRAMMAR = (
    f"slower, faster, {CANNOT_TELL}, {NOT_SAME}, {MISSING}, slower > N %, faster > N %, "
    "ratio < X or ratio > X"
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
        """Parse a condition.

        Examples
        --------
        >>> Condition.parse("slower > 5 %").bound
        0.95
        """
        words = " ".join(text.split())
        found = next(filter(None, (form.fullmatch(words) for form in _FORMS)), None)
        parts = found.groupdict() if found else {}
        number = float(parts.get("number") or 0)
        word, sign = parts.get("word", ""), parts.get("sign", "")
        # no ratio is below 0, and none that is slower by 100 % is above it
        if found is None or (word == SLOWER and number >= 100) or (sign and number == 0):
            raise BadInput(
                f"is not a condition; write {GRAMMAR}, with N below 100 for slower and X above 0",
                key="fail-if",
                value=text,
                code="E-ANALYSIS-031",
            )
        if sign:
            return cls(words, sign=sign, bound=number)
        if "number" not in parts:
            return cls(words, word=word)
        if word == SLOWER:
            return cls(words, sign="<", bound=(100 - number) / 100)
        return cls(words, sign=">", bound=(100 + number) / 100)

    def met_by(self, compared: Compared) -> pd.DataFrame:
        """Cells that meet the condition.

        A bound is met where the whole interval lies beyond it, and never by a cell that is not
        ranked. ``missing`` is met by cells that only one side has.
        """
        frame = compared.frame
        if self.word == MISSING:
            return compared.only
        if self.word == NOT_SAME:
            return frame[frame["verdict"] != SAME]
        if self.word:
            return frame[frame["verdict"] == self.word]
        beyond = frame["high"] < self.bound if self.sign == "<" else frame["low"] > self.bound
        return frame[frame["ranked"] & beyond]
