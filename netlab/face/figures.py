"""Figures of one's own in netlab's look: theme, colours, and the value of a cell."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from netlab.charts.chart import Chart


def show(drawn: Any, alt: str | None = None, caption: str = "") -> Chart:
    """Turn any figure of matplotlib or seaborn into a finished chart; closes the figure.

    The chart is the value of a notebook cell, and a report shows it with its alt text.

    Parameters
    ----------
    drawn : Axes, Figure, FacetGrid, JointGrid, PairGrid or seaborn.objects.Plot
        What ``plot`` of results, or a function of matplotlib, seaborn or pandas, returned.
    alt : str, optional
        Content of the chart in words; by default the text that ``plot`` of results made, else
        axis labels, titles and legend of the figure.
    caption : str, optional
        Text under the chart.

    Returns
    -------
    Chart
        A deterministic SVG with its alt text: ``save`` writes SVG, PNG or PDF, ``data`` has the
        numbers of named lines, bars and heat maps.

    Raises
    ------
    BadInput
        Something else than a figure, or a figure without labels and without `alt`.

    Examples
    --------
    >>> import netlab
    >>> import seaborn as sns
    >>> results = netlab.Results("openlab-2003")
    >>> netlab.show(results.plot("Linux64 -> Linux64", tuning="full"))
    Chart: Line chart of goodput, MB/s over streams, Linux64 → Linux64. ...
    >>> with netlab.theme():
    ...     grid = sns.displot(results.runs, x="wall_s", hue="tuning", height=3)
    >>> netlab.show(grid, "Durations of all runs by tuning").save("durations.svg").name
    'durations.svg'
    """
    from netlab.charts import chart

    return chart.show(drawn, alt, caption)


def theme() -> AbstractContextManager[None]:
    """Give the look of netlab's charts to what is drawn within: a context manager.

    Fonts, spines, grid, line widths and colours; global settings of matplotlib stay unchanged.
    Other threads have this look meanwhile, since the settings are of the process. It is a decorator
    as well. For a whole notebook use the same values as a style sheet,
    ``plt.style.use("netlab.charts.netlab")``.

    Returns
    -------
    context manager
        Without a value.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import netlab
    >>> with netlab.theme():
    ...     ax = plt.figure().add_subplot()
    >>> ax.spines["top"].get_visible(), plt.rcParams["axes.spines.top"]
    (False, True)
    >>> with plt.style.context("netlab.charts.netlab"):
    ...     plt.rcParams["axes.spines.top"]
    False
    """
    from netlab.charts import looks

    return looks.block_look()


def palette(
    levels: Iterable[Hashable] | None = None, factor: str = ""
) -> dict[Hashable, str] | list[str]:
    """Colours of netlab's charts, for ``palette=`` of seaborn.

    An MTU, and a tuning by its place in the study, has one colour on all pages; so have other
    factors by the order of their levels.

    Parameters
    ----------
    levels : Series or iterable, optional
        Levels of a factor, each once or as a column of a frame has them. A categorical column
        gives them in its order, others as they come.
    factor : str, optional
        Name of the factor, such as ``mtu_B``; by default the name of the column.

    Returns
    -------
    dict or list of str
        Level to colour, ``#rrggbb``; without `levels` all colours, in the order of the cycle.

    Examples
    --------
    >>> import netlab
    >>> runs = netlab.Results("openlab-2003").runs
    >>> netlab.palette(runs["mtu_B"])[9000]
    '#b0405a'
    >>> netlab.palette(["none", "kernel", "full"], "tuning")
    {'none': '#000000', 'kernel': '#2b8585', 'full': '#7a6f8f'}
    >>> len(netlab.palette())
    6
    """
    from netlab.charts import looks

    if levels is None:
        return list(looks.PALETTE)
    column = pd.Series(levels)
    ordered = column.dtype.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    distinct = [level for level in pd.unique(pd.Series(ordered)) if not pd.isna(level)]
    styles = looks.level_styles(factor or str(column.name), distinct)
    return {level: style["color"] for level, style in styles.items()}
