"""The precision that a study asks of its cells, and the rounds at which it is tested."""

from __future__ import annotations

import math
import re
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from netlab.study.base import MAX_ROUNDS, Model
from netlab.tuning.knobs import key

GROWTH = 1.4
"""Factor from one look to the next: few looks, and few rounds more than a cell needs."""

UNITS_S = {"s": 1.0, "min": 60.0, "h": 3600.0}


def duration_s(value: object) -> object:
    """Seconds of a text such as ``20min``, ``90 s`` or ``1.5h``; anything else as it is."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|min|h)\s*", value)
    if match is None:
        raise ValueError("is not a duration; write a number and s, min or h, such as 20min")
    return float(match[1]) * UNITS_S[match[2]]


DurationText = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?\s*(s|min|h)\s*$")]
_Seconds = Annotated[float, Field(ge=1, le=30 * 86400, allow_inf_nan=False)]
Duration = Annotated[
    _Seconds, BeforeValidator(duration_s, json_schema_input_type=_Seconds | DurationText)
]


class Precision(Model, title="`precision`"):
    """Required precision of every cell, and the limits of the attempt.

    The rounds up to ``min_rounds`` are measured whatever the budget.
    """

    half_width_percent: float = key(
        "Half the width of an interval, per cent of its mean.", 5.0, 5.0, gt=0, le=100
    )
    min_rounds: int = key("Rounds in which every cell is measured.", 3, 3, ge=2, le=MAX_ROUNDS)
    max_rounds: int = key("Most rounds of a cell.", 12, 12, ge=2, le=MAX_ROUNDS)
    budget: Duration | None = key("Time for the whole campaign.", "20min", None)

    @model_validator(mode="after")
    def _rounds_ascend(self) -> Self:
        if (most := self.max_rounds) < self.min_rounds:
            raise ValueError(f"max_rounds: {most} is below min_rounds, {self.min_rounds}")
        return self

    @property
    def looks(self) -> tuple[int, ...]:
        """Rounds after which the cells are tested, ascending; the last is `max_rounds`.

        Examples
        --------
        >>> Precision(min_rounds=3, max_rounds=12).looks
        (3, 5, 7, 10, 12)
        """
        looks = [self.min_rounds]
        while looks[-1] < self.max_rounds:
            looks.append(min(self.max_rounds, math.ceil(looks[-1] * GROWTH)))
        return tuple(looks)
