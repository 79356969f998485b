"""Chart of the gigabit articles: rates before and after tuning, and the limits of a host."""

from __future__ import annotations

from matplotlib.axes import Axes

from netlab.charts import line_labels, looks
from netlab.charts.chart import describe
from netlab.openlab import published
from netlab.openlab.figures.style import CLEAR, LIMIT, name_rows
from netlab.openlab.published.gigabit_layout import LINK_LIMIT, TITLE_OF_DOCUMENT, ceilings

_PCI_LIMITS = {
    "PCI 32 bit, 33 MHz, in practice": "PCI 32/33,\nin practice",
    "PCI 32 bit, 33 MHz": "PCI 32/33",
}


@looks.theme()
def before_and_after(*, ax: Axes | None = None) -> Axes:
    """Draw goodput before and after tuning, with the limits of bus and link."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"]
    ax = ax or looks.new_axes((looks.CHART_SIZE_IN[0], 3.1))
    top = len(TITLE_OF_DOCUMENT) - 1
    rows = {document: top - i for i, document in enumerate(TITLE_OF_DOCUMENT)}
    for document, row in rows.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        arrow = {"arrowstyle": "->", "color": looks.COUNT_COLOUR, "shrinkA": 7, "shrinkB": 7}
        ax.annotate("", (after, row), (before, row), arrowprops=arrow)
        for i, (phase, value) in enumerate((("before", before), ("after", after))):
            style = looks.other_style(i) | {"linestyle": "none", "markersize": 9}
            ax.plot(value, row, label=phase if row == top else f"_{phase}", **style)
            ax.annotate(f"{value:g}", (value, row), xytext=(0, 9), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
        name = LINK_LIMIT[document]
        ax.vlines(limits[name], row - 0.22, row + 0.16, color="black", linewidth=2)
        ax.text(limits[name], row - 0.25, f"{name}: {limits[name]:.0f}", fontsize=8.5,
                va="top", ha="center", bbox=CLEAR)  # fmt: skip
    for name, words in _PCI_LIMITS.items():
        ax.axvline(limits[name], zorder=0, **LIMIT)
        ax.text(limits[name], top + 0.55, f"{words}: {limits[name]:.0f}", fontsize=8.5,
                va="bottom", ha="center", color=looks.CEILING_COLOUR)  # fmt: skip
    names = ["\n".join(TITLE_OF_DOCUMENT[d].rsplit(", ", 1)) for d in rows]
    name_rows(ax, list(rows.values()), names)
    ax.set(xlabel="goodput, Mb/s", xlim=(0, 1200), ylim=(-0.6, top + 0.5))
    line_labels.legend_below(ax, ncols=2)
    values = "; ".join(
        f"{TITLE_OF_DOCUMENT[d]}: {wide.loc[d, 'before']:g} to {wide.loc[d, 'after']:g}"
        for d in rows
    )
    shown = [*_PCI_LIMITS, *LINK_LIMIT.values()]
    bounds = ", ".join(f"{name} {limits[name]:.0f}" for name in shown)
    return describe(ax, f"Goodput before and after tuning in Mb/s. {values}. Limits: {bounds}.")
