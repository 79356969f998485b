"""Designs of a screen: the knobs that are set in each row; the others are left as found.

`docs/screen.md` compares them. ``folded`` is a Plackett-Burman design and its mirror image (R. L.
Plackett, J. P. Burman, "The design of optimum multifactorial experiments", Biometrika 33, 1946;
fold-over: G. E. P. Box, K. B. Wilson, 1951), at most 2k + 6 rows for up to 24 knobs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from netlab.errors import check, require
from netlab.search.screen.record import NO_ROW

AUTO, FULL, FOLDED, LEAVE_ONE_OUT = "auto", "full", "folded", "leave-one-out"
DESIGNS = (AUTO, FULL, FOLDED, LEAVE_ONE_OUT)

FULL_KNOBS = 4
"""Most knobs for which ``auto`` takes the full factorial: 16 rows."""

MOST_FULL = 8
MOST_KNOBS = 40
ORDERS = (4, 8, 12, 16, 20, 24, 32, 40)
"""Sizes of the Plackett-Burman designs, up to :data:`MOST_KNOBS`."""
CYCLES = {12: ("-+-+++---+-", 1), 20: ("--++----+-+-++++--+", -1)}
"""Row that makes a design of this size, and the places by which each next row is rotated.

Plackett and Burman's; other sizes are a power of two or twice one of these.
"""

ALL_ROW = "all-knobs"


@dataclass(frozen=True, eq=False)
class Design:
    kind: str
    knobs: tuple[str, ...]
    levels: np.ndarray

    @property
    def rows(self) -> dict[str, tuple[str, ...]]:
        """Name of each row -> knobs that it sets."""
        by_row = {}
        for number, row in enumerate(self.levels, 1):
            chosen = tuple(knob for knob, level in zip(self.knobs, row, strict=True) if level > 0)
            name = {len(self.knobs): ALL_ROW, 0: NO_ROW}.get(len(chosen), f"row-{number:02d}")
            by_row[name] = chosen
        return by_row

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Pairs whose effect the design estimates beside those of all knobs."""
        return tuple(combinations(self.knobs, 2)) if self.kind == FULL else ()


def design(knobs: Iterable[str], kind: str = AUTO) -> Design:
    names = tuple(knobs)
    require(kind, DESIGNS, key="design", code="E-SCREEN-001")
    if kind == AUTO:
        kind = FULL if len(names) <= FULL_KNOBS else FOLDED
    most = MOST_FULL if kind == FULL else MOST_KNOBS
    fine = 1 <= len(names) <= most and len(set(names)) == len(names)
    text = f"a {kind} design takes 1 to {most} knobs, each once; there are {len(names)}"
    check(fine, "knobs", ", ".join(names), text, "E-SCREEN-002")
    make = {FULL: _full, FOLDED: _folded, LEAVE_ONE_OUT: _leave_one_out}[kind]
    return Design(kind, names, make(len(names)).astype(int))


def _full(knobs: int) -> np.ndarray:
    return np.array([*product((-1, 1), repeat=knobs)])


def _hadamard(order: int) -> np.ndarray:
    """A matrix of signs with orthogonal columns, the first of them ones."""
    if order == 1:
        return np.ones((1, 1))
    if order not in CYCLES:
        return np.kron([[1, 1], [1, -1]], _hadamard(order // 2))
    signs, step = CYCLES[order]
    row = np.array([1 if sign == "+" else -1 for sign in signs])
    cycle = np.array([np.roll(row, step * number) for number in range(order - 1)])
    return np.vstack([np.ones(order), np.insert(cycle, 0, 1, axis=1)])


def _folded(knobs: int) -> np.ndarray:
    """A Plackett-Burman design with a column of ones, and all of it with signs changed.

    The ones and their mirror image are a column of their own, so that n runs serve n knobs.
    """
    if knobs <= 2:  # rows would repeat
        return _full(knobs)
    order = next(size for size in ORDERS if size >= knobs)
    whole = _hadamard(order)[::-1, :knobs]
    return np.vstack([whole, -whole])


def _leave_one_out(knobs: int) -> np.ndarray:
    ones = np.ones((1, knobs))
    rows = [ones, -ones, *([1 - 2 * np.eye(knobs)] if knobs > 1 else [])]
    return np.vstack(rows)
