"""A legend of styles below a figure."""

from __future__ import annotations

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from netlab.charts import forest


def legend_of(fig: Figure, styles: forest.Styles) -> None:
    looks = ({k: style[k] for k in ("color", "marker")} for style in styles.values())
    handles = [Line2D([], [], linestyle="", **look) for look in looks]
    fig.legend(handles, list(styles), loc="outside lower center", ncols=len(styles))
