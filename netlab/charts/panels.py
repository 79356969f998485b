"""A figure of several axes, as figure-level functions return it.

The charts follow seaborn's distinction. An axes-level function takes ``ax``, draws on it and
returns it, so that its chart fits into a figure of the caller. A figure-level function makes its
own figures and takes no ``ax``: it returns :class:`Panels`, one figure whose panels an axes-level
function draws as well, or a :class:`netlab.charts.chart.Gallery` of finished charts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Panels:
    """A figure with its axes, as seaborn's ``FacetGrid`` has them."""

    figure: Figure
    axes: np.ndarray
