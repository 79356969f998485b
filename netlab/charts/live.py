"""Goodput and CPU of the runs of a campaign as an inline SVG, in the colours of the page.

It is drawn again after every run, so it is written as text: a figure of matplotlib takes 50 ms.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

WIDTH, LEFT, RIGHT = 640, 62, 6
GOODPUT_HEIGHT, CPU_HEIGHT, GAP = 110, 44, 22
MOST_RUNS = 150
"""Runs that are drawn: the latest ones."""


def live_chart(
    goodputs_MBps: Sequence[float | None],
    cpu_percent: Sequence[float | None],
    flagged: Sequence[bool],
) -> str:
    """Draw the goodput of each run as a dot, and the busiest core as a bar below it."""
    count = len(goodputs_MBps)
    if not count:
        return ""
    goodputs, cpus = goodputs_MBps[-MOST_RUNS:], cpu_percent[-MOST_RUNS:]
    crosses = flagged[-MOST_RUNS:]
    finite = [value for value in goodputs if value is not None]
    top = _round_up(max(finite, default=0.0))
    shown = len(goodputs)
    step = (WIDTH - LEFT - RIGHT) / max(shown, 20)
    base = GOODPUT_HEIGHT + GAP + CPU_HEIGHT
    first = count - shown + 1
    reach = f"{min(finite):,.0f} to {max(finite):,.0f} MB/s" if finite else "no goodput"
    words = html.escape(f"Runs {first} to {count}: {reach}; busiest core below, 0 to 100 %")
    parts = [
        f'<svg role="img" aria-label="{words}" viewBox="0 0 {WIDTH} {base + 18}" '
        f'style="width:100%;max-width:{WIDTH}px;height:auto;display:block" '
        'font-family="sans-serif" font-size="11" fill="currentColor" stroke="none">',
        f"<title>{words}</title>",
        _axis(4, GOODPUT_HEIGHT, f"{top:,.0f}", "MB/s"),
        _axis(GOODPUT_HEIGHT + GAP, base, "100 %", "core"),
        f'<text x="{LEFT}" y="{base + 14}">run {first}</text>',
        f'<text x="{WIDTH - RIGHT}" y="{base + 14}" text-anchor="end">run {count}</text>',
    ]
    if any(crosses):
        middle = (LEFT + WIDTH - RIGHT) / 2
        text = "× flagged, left out of the results"
        parts.append(f'<text x="{middle}" y="{base + 14}" text-anchor="middle">{text}</text>')
    for at, (goodput, cpu, cross) in enumerate(zip(goodputs, cpus, crosses, strict=True)):
        x = LEFT + (at + 0.5) * step
        if goodput is not None:
            y = GOODPUT_HEIGHT - (GOODPUT_HEIGHT - 4) * goodput / top
            parts.append(_cross(x, y) if cross else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>')
        if cpu is not None:
            height = CPU_HEIGHT * min(cpu, 100.0) / 100
            parts.append(
                f'<rect x="{x - step * 0.35:.1f}" y="{base - height:.1f}" '
                f'width="{step * 0.7:.1f}" height="{height:.1f}" opacity="0.55"/>'
            )
    return "".join([*parts, "</svg>"])


def _axis(top: float, base: float, text: str, unit: str) -> str:
    line = 'stroke="currentColor" stroke-width="0.8" opacity="0.6"'
    return (
        f'<line x1="{LEFT}" y1="{top}" x2="{LEFT}" y2="{base}" {line}/>'
        f'<line x1="{LEFT}" y1="{base}" x2="{WIDTH - RIGHT}" y2="{base}" {line}/>'
        f'<text x="{LEFT - 5}" y="{top + 8}" text-anchor="end">{text}</text>'
        f'<text x="{LEFT - 5}" y="{top + 21}" text-anchor="end">{unit}</text>'
        f'<text x="{LEFT - 5}" y="{base}" text-anchor="end">0</text>'
    )


def _cross(x: float, y: float) -> str:
    return (
        f'<path d="M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6" stroke="currentColor" '
        'stroke-width="1.3"/>'
    )


def _round_up(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten; 1 for nothing."""
    power = 1.0
    while power * 10 <= value:
        power *= 10
    return next((power * m for m in (1, 2, 5) if power * m >= value), power * 10)


# A run's goodput over time as a small inline SVG, in the colours of the page around it.
#
# Hundreds of them are on one page, so they are written as text: a figure of matplotlib takes 50 ms.

SPARK_PX, HEIGHT = 180, 40
PAD = 3


def sparkline(
    t_s: Sequence[float], values: Sequence[float], inside: Sequence[bool], top: float, words: str
) -> str:
    """Draw values over time from 0 to `top`; the measured window is shaded."""
    name = html.escape(words, quote=True)
    parts = [
        f'<svg class="spark" role="img" aria-label="{name}" width="{SPARK_PX}" height="{HEIGHT}" '
        f'viewBox="0 0 {SPARK_PX} {HEIGHT}"><title>{name}</title>'
    ]
    if len(t_s) > 1 and top > 0:
        first, last = min(t_s), max(t_s)
        scale = (SPARK_PX - 2 * PAD) / (last - first) if last > first else 0.0

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
