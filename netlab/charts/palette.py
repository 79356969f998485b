"""Colours by meaning: an MTU, a tuning, then or now, or something else a page compares.

The first three colours of :data:`netlab.charts.style.PALETTE` are MTUs, the next three tunings.
The other meanings have colours of their own, so that one colour means one thing on all pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netlab.charts.style import DASHES, MARKERS, mtu_styles, second_style

SIDES: dict[str, str] = {"then": "#5e2a84", "now": "#5d8f1f"}
"""Colours of 2003 and of what was measured here."""

OTHERS: tuple[str, ...] = ("#6b3e26", "#c2559d", "#4a6fa5", "#7d7d00", "#007a5e", "#555555")
"""Colours of everything else: factors, generators, TCP stacks, verdicts."""


def side_style(side: str) -> dict[str, Any]:
    """Style of a line of 2003 (``then``) or of the measured side (``now``)."""
    return _style(SIDES[side], list(SIDES).index(side))


def other_style(i: int) -> dict[str, Any]:
    """Style of the ``i``-th line besides MTUs, tunings and sides (cycles after six)."""
    return _style(OTHERS[i % len(OTHERS)], i)


def _style(colour: str, i: int) -> dict[str, Any]:
    return {
        "color": colour,
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": DASHES[i % len(DASHES)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }


def level_styles(factor: str, levels: Iterable[Any]) -> dict[Any, dict[str, Any]]:
    """Style of the line of each level of a factor.

    Parameters
    ----------
    factor : str
        ``mtu_B``, ``tuning``, or any other.
    levels : iterable
        Levels in their order.
    """
    known = list(levels)
    if factor == "mtu_B":
        return dict(mtu_styles(known))
    style = second_style if factor == "tuning" else other_style
    return {level: style(i) for i, level in enumerate(known)}
