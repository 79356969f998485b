"""Style of the documents' charts: the colours of limits and names of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from netlab.charts import looks

LIMIT: dict[str, Any] = {
    "color": looks.CEILING_COLOUR,
    "linestyle": looks.DASHES[1],
    "linewidth": 1.2,
}
"""Line of a goal or a limit."""
CLEAR = {"facecolor": "white", "edgecolor": "none", "pad": 1}
"""Ground of a text on other marks."""


def name_rows(ax: Axes, rows: Sequence[float] | np.ndarray, names: Sequence[str]) -> None:
    ax.set_yticks(rows, names)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
