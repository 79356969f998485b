"""Colours, markers and dashes by meaning: an MTU, a tuning, then or now, or something else.

Lines differ in colour, marker and dash at once, so a chart stays readable in grey print and with
colour-blind eyes. The colours differ in lightness, and each has a contrast of at least 3:1 on
white (WCAG 2.1, success criterion 1.4.11).

The first three colours of :data:`PALETTE` are MTUs, the next three tunings. The other meanings
have colours of their own, so that one colour means one thing on all pages.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.typing import ColorType

HOUSE: dict = dict(
    mpl.rc_params_from_file(Path(__file__).with_name("netlab.mplstyle"), use_default_template=False)
)
"""Fonts, lines and colours of netlab's figures, as ``plt.style.use("netlab.charts.netlab")`` has
them. A layout is not among them: seaborn's grids lay out themselves."""

PALETTE: tuple[str, ...] = tuple(HOUSE["axes.prop_cycle"].by_key()["color"])
MARKERS: tuple[str, ...] = ("o", "s", "^", "D", "v", "P")
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1.5, 1.2)),
    (0, (6, 1.5, 1.5, 1.5)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 3)),
)
CEILING_COLOUR = "#666666"
"""Of reference lines: the bus, the link, a goal, zero."""

CEILING_DASH: tuple[Any, ...] = (0, (1, 1))

MEDIAN_COLOUR = "#d0021b"
"""Of a running median over the runs of all tunings."""

COUNT_COLOUR = "#9a9a9a"
"""Of counts, and of arrows from one value to another."""

HOLLOW_COLOUR = "#767676"
"""Of the marks of flagged cells, which are not results."""

BAND_COLOUR = "#e4e4e4"
"""Of a range that counts as no difference."""

SECOND_SERIES = 3
"""Position of the first colour that is not an MTU's."""

_POSITION_OF_MTU = {1500: 0, 9000: 1, 16114: 2}

SIDES: dict[str, str] = {"then": "#5e2a84", "now": "#5d8f1f"}
"""Colours of 2003 and of what was measured here."""

OTHERS: tuple[str, ...] = ("#6b3e26", "#c2559d", "#4a6fa5", "#7d7d00", "#007a5e", "#555555")
"""Colours of everything else: factors, generators, TCP stacks, verdicts."""


def line_style(i: int, colours: Sequence[str] = PALETTE) -> dict[str, Any]:
    """Keyword arguments for the ``i``-th line of a chart; each pass takes other markers."""
    return {
        "color": colours[i % len(colours)],
        "marker": MARKERS[(i + i // len(colours)) % len(MARKERS)],
        "linestyle": DASHES[i % len(DASHES)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.7,
    }


def mtu_styles(mtus_B: Iterable[int]) -> dict[int, dict[str, Any]]:
    """`line_style` of every MTU: 1500, 9000 and 16114 B look the same on all pages."""
    every = sorted({int(mtu_B) for mtu_B in mtus_B})
    taken = {_POSITION_OF_MTU[mtu_B] for mtu_B in every if mtu_B in _POSITION_OF_MTU}
    free = (i for i in range(len(every)) if i not in taken)
    positions = {m: _POSITION_OF_MTU[m] if m in _POSITION_OF_MTU else next(free) for m in every}
    return {mtu_B: line_style(position) for mtu_B, position in positions.items()}


def second_style(i: int) -> dict[str, Any]:
    """`line_style` of the ``i``-th line of a chart whose lines are not MTUs."""
    return line_style(SECOND_SERIES + i)


def tuning_dashes(tunings: Sequence[str]) -> dict[str, Any]:
    """Dash of each tuning where colours are MTUs: the last one, the fullest, is solid."""
    last = len(tunings) - 1
    return {name: DASHES[(last - i) % len(DASHES)] for i, name in enumerate(tunings)}


def side_style(side: str) -> dict[str, Any]:
    """Style of a line of 2003 (``then``) or of the measured side (``now``)."""
    return line_style(list(SIDES).index(side), list(SIDES.values()))


def other_style(i: int) -> dict[str, Any]:
    """Style of the ``i``-th line besides MTUs, tunings and sides."""
    return line_style(i, OTHERS)


def level_styles(factor: str, levels: Iterable[Any]) -> dict[Any, dict[str, Any]]:
    ordered = list(levels)
    if factor == "mtu_B":
        return dict(mtu_styles(ordered))
    style = second_style if factor == "tuning" else other_style
    return {level: style(i) for i, level in enumerate(ordered)}


def text_colour(colour: ColorType) -> str:
    """A line's colour, darkened until text in it has a contrast of 4.5:1 on white."""
    channels = mpl.colors.to_rgb(colour)
    while 1.05 / (_luminance(channels) + 0.05) < 4.5:
        red, green, blue = channels
        channels = (0.95 * red, 0.95 * green, 0.95 * blue)
    return mpl.colors.to_hex(channels)


def _luminance(channels: Sequence[float]) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = np.array(channels)
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def heat_map(values: np.ndarray, **options: Any) -> None:
    """Draw a heat map with seaborn."""
    import seaborn as sns  # half of the time that a notebook's first cell takes, were it above

    sns.heatmap(values, cmap="cividis", **options)


CHART_SIZE_IN = (6.4, 3.9)
SMALL_CHART_SIZE_IN = (3.7, 3.0)

WIDEST_IN, LEAST_PANEL_IN = 7.9, 1.1
"""Width at which text of 8.5 pt still has 7 pt on a line of the PDF; the narrowest panel."""


FRAME_IN = 1.0
"""Width of a row of panels for the labels around them."""


def width_of_panels(count: int, each_in: float) -> float:
    """Width of a row of panels: narrower ones where the row would be too wide to be printed."""
    widest = max(WIDEST_IN, FRAME_IN + LEAST_PANEL_IN * count)
    return min(FRAME_IN + each_in * count, widest)


@contextmanager
def theme() -> Iterator[None]:
    """Context and decorator of netlab's own charts; global settings stay unchanged.

    What the theme does not state is matplotlib's default, whatever a matplotlibrc says: the same
    results give the same chart for everybody, also without the LaTeX or the fonts of its reader.
    """
    own = {
        name: value
        for name, value in mpl.rcParamsDefault.items()
        if name not in _OF_A_PROCESS and mpl.rcParams[name] != value
    }
    with _settings({**own, **HOUSE, "figure.constrained_layout.use": True}):
        yield


@contextmanager
def look() -> Iterator[None]:
    """Context and decorator with the theme over the user's settings, for figures of one's own."""
    with _settings(HOUSE):
        yield


@contextmanager
def block_look() -> Iterator[None]:
    """As `look`, for a block of a user's, which may wait for other threads that draw.

    The lock is not held within. Blocks of several threads, tasks or generators end in any order.
    """
    plt.draw_if_interactive()
    with _lock:
        before = dict(mpl.rcParams)
        del before["backend"]
        opened = [before]
        _open_blocks.append(opened)
        mpl.rcParams.update(HOUSE)
    try:
        yield
    finally:
        with _lock:
            at = next(i for i, block in enumerate(_open_blocks) if block is opened)
            _open_blocks.pop(at)
            if at == len(_open_blocks):
                dict.update(mpl.rcParams, opened[0])  # as rc_context does
            else:
                _open_blocks[at][:] = opened  # the next one ends later


_open_blocks: list[list[dict]] = []
"""Settings before each open block, by start."""


@contextmanager
def _settings(rc: dict) -> Iterator[None]:
    # A notebook's backend makes figures interactive when it is loaded, by the first figure. Loaded
    # within the context, the end of that would take it back, and no later figure would be shown.
    plt.draw_if_interactive()
    with _lock, mpl.rc_context(rc):
        yield


_lock = threading.RLock()
"""Held while a figure is drawn: matplotlib's settings and its numbers of figures are the process's,
and would stay changed where the contexts of two threads end out of order."""


def _replace_lock() -> None:
    """Give a forked process a lock of its own: no thread of it would release the former one."""
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_replace_lock)


_OF_A_PROCESS = ("backend", "backend_fallback", "interactive", "figure.max_open_warning")
"""Settings that change no file; the first figure sets the backend."""


def settings() -> str:
    """Matplotlib's settings outside netlab's theme, which keeps those that it does not state."""
    known = {name: value for name, value in mpl.rcParams.items() if name not in _OF_A_PROCESS}
    return repr(sorted((name, str(value)) for name, value in known.items()))


def close(figure: Figure) -> None:
    """Close a figure of pyplot."""
    with _lock:
        plt.close(figure)


def new_axes(size_in: tuple[float, float] = CHART_SIZE_IN) -> Axes:
    with theme():
        return plt.subplots(figsize=size_in)[1]


def font_folder() -> Path:
    """Directory of the fonts that come with matplotlib, for programs that render a figure."""
    return Path(mpl.get_data_path()) / "fonts" / "ttf"
