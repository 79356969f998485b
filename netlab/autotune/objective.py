"""What a search is for: how a run becomes a score, and how a score is said."""

from __future__ import annotations

import math
from dataclasses import dataclass

from netlab.errors import BadInput


@dataclass(frozen=True)
class Objective:
    """One figure of a run that is to be as high, or as low, as can be.

    Scores are natural logarithms, so that a difference of two is a ratio: figures of a path
    spread by a share of themselves.

    Parameters
    ----------
    name : str
        As the command takes it.
    column : str
        Of a sample.
    label, unit : str
        As people read it.
    sign : int
        1 where more is better, -1 where less is.
    """

    name: str
    column: str
    label: str
    unit: str
    sign: int

    def score(self, sample: dict) -> float | None:
        """The score of a sample; None where it has no such figure."""
        value = sample.get(self.column)
        if value is None or not math.isfinite(value) or value <= 0:
            return None
        return self.sign * math.log(value)

    def value(self, score: float) -> float:
        """The figure that a score stands for."""
        return math.exp(self.sign * score)

    def said(self, score: float) -> str:
        """A score as a figure with its unit."""
        return f"{self.value(score):.4g} {self.unit}"

    def lag_percent(self, gap: float) -> float:
        """By how many per cent of the better figure an arm is worse, from a gap in score.

        For a goodput at most 100: so much of it is lacking. For a cost without limit: so much
        more is spent.
        """
        return -self.sign * self.change_percent(-gap)

    def change_percent(self, score: float) -> float:
        """By how many per cent a change of score changes the figure: infinite beyond a float's."""
        try:
            return 100 * math.expm1(self.sign * score)
        except OverflowError:
            return math.inf


OBJECTIVES = {
    "goodput": Objective("goodput", "goodput_MBps", "goodput", "MB/s", 1),
    "cpu": Objective("cpu", "cpu_s_per_GB", "CPU time per byte", "CPU s/GB", -1),
}


def objective(name: str) -> Objective:
    """An objective by name.

    Raises
    ------
    BadInput
        There is none of that name.
    """
    if name not in OBJECTIVES:
        raise BadInput(f"is one of {', '.join(OBJECTIVES)}", key="for", value=name)
    return OBJECTIVES[name]
