"""Designs of a screen: the knobs that are set in each row.

A row is one setting of the hosts: some knobs are set, the others are left as found. Designs:

``full``
    Every combination of k knobs, 2^k rows: effects of all knobs and of all pairs.
``folded``
    A Plackett-Burman design and its mirror image (R. L. Plackett, J. P. Burman, "The design of
    optimum multifactorial experiments", Biometrika 33, 1946; fold-over: G. E. P. Box, K. B. Wilson,
    1951): at most 2k + 6 rows for up to 24 knobs. No effect of a knob is mixed with that of any
    pair; pairs are mixed with each other.
``leave-one-out``
    All knobs, none, and all but one: k + 2 rows. It shows the effect of a knob beside all others
    only: of two knobs that replace each other it shows neither.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from netlab.analysis.screened import NO_ROW
from netlab.errors import BadInput

AUTO, FULL, FOLDED, LEAVE_ONE_OUT = "auto", "full", "folded", "leave-one-out"
DESIGNS = (AUTO, FULL, FOLDED, LEAVE_ONE_OUT)

FULL_KNOBS = 4
"""Most knobs for which ``auto`` takes the full factorial: 16 rows."""

MOST_FULL = 8
MOST_KNOBS = 40
ORDERS = (4, 8, 12, 16, 20, 24, 32, 40)
"""Sizes of the Plackett-Burman designs that pyDOE3 has, up to :data:`MOST_KNOBS`."""

ALL_ROW = "all-knobs"


@dataclass(frozen=True, eq=False)
class Design:
    """A two-level design."""

    kind: str
    knobs: tuple[str, ...]
    levels: np.ndarray

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Name of each row -> knobs that it sets."""
        found = {}
        for number, row in enumerate(self.levels, 1):
            chosen = tuple(knob for knob, level in zip(self.knobs, row, strict=True) if level > 0)
            name = {len(self.knobs): ALL_ROW, 0: NO_ROW}.get(len(chosen), f"row-{number:02d}")
            found[name] = chosen
        return found

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs whose effect the design estimates beside those of all knobs."""
        return tuple(combinations(self.knobs, 2)) if self.kind == FULL else ()


def design(knobs: Iterable[str], kind: str = AUTO) -> Design:
    """Choose the rows of a screen."""
    names = tuple(knobs)
    if kind not in DESIGNS:
        raise BadInput(
            f"is one of {', '.join(DESIGNS)}", key="design", value=kind, code="E-SCREEN-001"
        )
    if kind == AUTO:
        kind = FULL if len(names) <= FULL_KNOBS else FOLDED
    most = MOST_FULL if kind == FULL else MOST_KNOBS
    if not 1 <= len(names) <= most or len(set(names)) < len(names):
        raise BadInput(
            f"a {kind} design takes 1 to {most} knobs, each once; there are {len(names)}",
            key="knobs",
            value=", ".join(names),
            code="E-SCREEN-002",
        )
    make = {FULL: _full, FOLDED: _folded, LEAVE_ONE_OUT: _leave_one_out}[kind]
    return Design(kind, names, make(len(names)).astype(int))


def _full(knobs: int) -> np.ndarray:
    from pyDOE3 import ff2n  # takes a second to import

    return ff2n(knobs)


def _folded(knobs: int) -> np.ndarray:
    """A Plackett-Burman design with a column of ones, and all of it with signs changed.

    The ones and their mirror image are a column of their own, so that n runs serve n knobs.
    """
    from pyDOE3 import pbdesign

    if knobs <= 2:  # rows would repeat
        return _full(knobs)
    order = next(size for size in ORDERS if size >= knobs)
    runs = pbdesign(order - 1)
    whole = np.column_stack([np.ones(len(runs)), runs])[:, :knobs]
    return np.vstack([whole, -whole])


def _leave_one_out(knobs: int) -> np.ndarray:
    ones = np.ones((1, knobs))
    rows = [ones, -ones, *([1 - 2 * np.eye(knobs)] if knobs > 1 else [])]
    return np.vstack(rows)
