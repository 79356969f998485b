"""A run's goodput over time as a small inline SVG, in the colours of the page around it.

Hundreds of them are on one page, so they are written as text: a figure of matplotlib takes 50 ms.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

WIDTH, HEIGHT = 180, 40
PAD = 3


def sparkline(
    t_s: Sequence[float], values: Sequence[float], inside: Sequence[bool], top: float, words: str
) -> str:
    """Draw values over time from 0 to `top`; the measured window is shaded."""
    name = html.escape(words, quote=True)
    parts = [
        f'<svg class="spark" role="img" aria-label="{name}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><title>{name}</title>'
    ]
    if len(t_s) > 1 and top > 0:
        first, last = min(t_s), max(t_s)
        scale = (WIDTH - 2 * PAD) / (last - first) if last > first else 0.0

        def x(t: float) -> float:
            return PAD + (t - first) * scale

        window = [t for t, into in zip(t_s, inside, strict=True) if into]
        if window:
            left = x(min(window))
            parts.append(
                f'<rect class="window" x="{left:.1f}" y="0" '
                f'width="{x(max(window)) - left:.1f}" height="{HEIGHT}"/>'
            )
        points = " ".join(
            f"{x(t):.1f},{HEIGHT - PAD - (HEIGHT - 2 * PAD) * value / top:.1f}"
            for t, value in zip(t_s, values, strict=True)
        )
        parts.append(f'<polyline points="{points}"/>')
    return "".join([*parts, "</svg>"])
