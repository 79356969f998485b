"""What a claim is and how it is judged.

A claim quotes one quantitative statement of a source document. Its judge recomputes the figure
from the published data and reaches a verdict; no verdict and no recomputed value is written down
anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from netlab.errors import BadInput

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Verdict(StrEnum):
    """How a claim stands against the recomputed value."""

    HOLDS = "holds"
    ROUNDS = "rounds"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True)
class Finding:
    """What recomputing a claim gave: a value as text, a verdict, one line of why."""

    recomputed: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Printed:
    """A claimed value as the document prints it, such as ``8512 Mb/s`` or ``about 73 %``."""

    text: str

    @property
    def number(self) -> float:
        """The first number in the text."""
        return float(self._digits)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self._decimals

    @property
    def _decimals(self) -> int:
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        found = _NUMBER.search(self.text)
        if found is None:
            raise BadInput("holds no number", key="claimed", value=self.text)
        return found[0]

    def against(
        self, recomputed: float, why: str, *, unit: str = "", allowance: float = 0.0
    ) -> Finding:
        """Compare the printed number with a recomputed one.

        Parameters
        ----------
        recomputed : float
            The value, in the unit printed.
        why : str
            How it was obtained.
        unit : str, optional
            Unit to show.
        allowance : float
            How far the printed number may be off besides rounding: for figures that were
            themselves rounded before, or words such as "about".

        Returns
        -------
        Finding
            ``holds`` if equal, ``rounds`` if equal at the printed digits or within the
            allowance, else ``contradicted``.
        """
        off = abs(recomputed - self.number)
        if off <= 1e-9 * abs(recomputed):
            verdict = Verdict.HOLDS
        elif off <= max(self.half_unit, allowance) * (1 + 1e-9):
            verdict = Verdict.ROUNDS
        else:
            verdict = Verdict.CONTRADICTED
        text = f"{recomputed:.{self._decimals + 2}f}".rstrip("0").rstrip(".")
        return Finding(f"{text} {unit}".strip(), verdict, why)


def stands(condition: bool, recomputed: str, why: str) -> Finding:
    """A claim that is true or false as it stands."""
    return Finding(recomputed, Verdict.HOLDS if condition else Verdict.CONTRADICTED, why)


def uncheckable(why: str, recomputed: str = "–") -> Finding:
    """A claim the documents give no data for; ``recomputed`` may say what can be said."""
    return Finding(recomputed, Verdict.NOT_CHECKABLE, why)


@dataclass(frozen=True)
class Claim:
    """One quantitative statement.

    Parameters
    ----------
    document : str
        Which of the five documents.
    place : str
        Section, table, set or paragraph.
    statement : str
        What is said, in a few words.
    claimed : Printed
        The value or outcome as printed.
    judge : callable
        From the claimed value to a finding.
    """

    document: str
    place: str
    statement: str
    claimed: Printed
    judge: Callable[[Printed], Finding]

    def check(self) -> Finding:
        """Recompute it now."""
        return self.judge(self.claimed)


class Claims:
    """The claims of one document, in its order; a decorator collects them."""

    def __init__(self, document: str):
        self.document = document
        self._parts: list[Callable[[], Iterable[Claim]]] = []

    def __call__(
        self, place: str, statement: str, claimed: str
    ) -> Callable[[Callable[[Printed], Finding]], Callable[[Printed], Finding]]:
        """Register the decorated function as the judge of one claim."""

        def register(judge: Callable[[Printed], Finding]) -> Callable[[Printed], Finding]:
            claim = Claim(self.document, place, statement, Printed(claimed), judge)
            self._parts.append(lambda: (claim,))
            return judge

        return register

    def from_data(self, make: Callable[[], Iterable[Claim]]) -> Callable[[], Iterable[Claim]]:
        """Register a function that makes claims from data, such as one for each cell.

        It is called when the claims are listed, so that importing them reads no file.
        """
        self._parts.append(make)
        return make

    def __iter__(self) -> Iterator[Claim]:
        for part in self._parts:
            yield from part()
