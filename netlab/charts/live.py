"""Goodput and CPU of the runs of a campaign, and of one run over time, as inline SVG.

The first is drawn again after every run, and a page has hundreds of the second: templates write
them, since a figure of matplotlib takes 50 ms. They have the colours of the page around them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import jinja2

from netlab.units import plain

WIDTH, LEFT, RIGHT = 640, 62, 6
GOODPUT_HEIGHT, CPU_HEIGHT, GAP = 110, 44, 22
MOST_RUNS = 150
"""Runs that are drawn: the latest ones."""

SPARK_PX, HEIGHT = 180, 40
PAD = 3


@cache
def _template(name: str) -> jinja2.Template:
    folder = jinja2.FileSystemLoader(Path(__file__).parent)
    return jinja2.Environment(loader=folder, autoescape=True).get_template(name)


def live_chart(
    goodputs_MBps: Sequence[float | None],
    cpu_percent: Sequence[float | None],
    flagged: Sequence[bool],
) -> str:
    """Draw the goodput of each run as a dot, and the busiest core as a bar below it."""
    count = len(goodputs_MBps)
    if not count:
        return ""
    drawn = [each[-MOST_RUNS:] for each in (goodputs_MBps, cpu_percent, flagged)]
    finite = [value for value in drawn[0] if value is not None]
    top = _round_up(max(finite, default=0.0))
    step, first = (WIDTH - LEFT - RIGHT) / max(len(drawn[0]), 20), count - len(drawn[0]) + 1
    ends = [_number(end) for end in (min(finite), max(finite))] if finite else []
    reach = f"{' to '.join(ends)} MB/s" if finite else "no goodput"
    marks = [
        {
            "x": LEFT + (at + 0.5) * step,
            "y": None if goodput is None else GOODPUT_HEIGHT - (GOODPUT_HEIGHT - 4) * goodput / top,
            "bar": None if cpu is None else CPU_HEIGHT * min(cpu, 100.0) / 100,
            "flagged": cross,
        }
        for at, (goodput, cpu, cross) in enumerate(zip(*drawn, strict=True))
    ]
    return _template("live.svg.j2").render(
        words=f"Runs {first} to {count}: {reach}; busiest core below, 0 to 100 %",
        width=WIDTH,
        left=LEFT,
        right=WIDTH - RIGHT,
        goodput_height=GOODPUT_HEIGHT,
        cpu_top=GOODPUT_HEIGHT + GAP,
        base=GOODPUT_HEIGHT + GAP + CPU_HEIGHT,
        top=_number(top),
        step=step,
        first=first,
        last=count,
        marks=marks,
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else plain(value, ".3g")


def _round_up(value: float) -> float:
    """The next of 1, 2 and 5 times a power of ten; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((power * m for m in (1, 2, 5) if power * m >= value), power * 10)


def sparkline(
    t_s: Sequence[float], values: Sequence[float], inside: Sequence[bool], top: float, words: str
) -> str:
    """Draw values over time from 0 to `top`; the measured window is shaded."""
    points, window = [], []
    if len(t_s) > 1 and top > 0:
        first, last = min(t_s), max(t_s)
        scale = (SPARK_PX - 2 * PAD) / (last - first) if last > first else 0.0
        x = [PAD + (t - first) * scale for t in t_s]
        y = [HEIGHT - PAD - (HEIGHT - 2 * PAD) * value / top for value in values]
        points = list(zip(x, y, strict=True))
        window = sorted(at for at, into in zip(x, inside, strict=True) if into)
    sizes = {"width": SPARK_PX, "height": HEIGHT}
    return _template("spark.svg.j2").render(words=words, points=points, window=window, **sizes)
