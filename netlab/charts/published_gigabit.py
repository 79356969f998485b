"""Chart of the gigabit articles: rates before and after tuning, and the limits of a host."""

from __future__ import annotations

from matplotlib.axes import Axes

from netlab import published
from netlab.charts.chart import describe
from netlab.charts.labels import legend_below
from netlab.charts.palette import CEILING_COLOUR, COUNT_COLOUR, DASHES, other_style
from netlab.charts.theme import CHART_SIZE_IN, new_axes, theme
from netlab.published.gigabit_hosts import LINK_LIMIT, TITLE_OF_DOCUMENT, ceilings

_PCI_LIMITS = {
    "PCI 32 bit, 33 MHz, in practice": "PCI 32/33,\nin practice",
    "PCI 32 bit, 33 MHz": "PCI 32/33",
}


@theme()
def before_and_after(*, ax: Axes | None = None) -> Axes:
    """Draw goodput before and after tuning, with the limits of bus and link."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"]
    ax = ax or new_axes((CHART_SIZE_IN[0], 3.1))
    top = len(TITLE_OF_DOCUMENT) - 1
    rows = {document: top - i for i, document in enumerate(TITLE_OF_DOCUMENT)}
    for document, row in rows.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        arrow = {"arrowstyle": "->", "color": COUNT_COLOUR, "shrinkA": 7, "shrinkB": 7}
        ax.annotate("", (after, row), (before, row), arrowprops=arrow)
        for i, (phase, value) in enumerate((("before", before), ("after", after))):
            style = other_style(i) | {"linestyle": "none", "markersize": 9}
            ax.plot(value, row, label=phase if row == top else f"_{phase}", **style)
            ax.annotate(f"{value:g}", (value, row), xytext=(0, 9), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
        name = LINK_LIMIT[document]
        ax.vlines(limits[name], row - 0.22, row + 0.16, color="black", linewidth=2)
        clear = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        ax.text(limits[name], row - 0.25, f"{name}: {limits[name]:.0f}", fontsize=8.5,
                va="top", ha="center", bbox=clear)  # fmt: skip
    for name, words in _PCI_LIMITS.items():
        ax.axvline(limits[name], color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2, zorder=0)
        ax.text(limits[name], top + 0.55, f"{words}: {limits[name]:.0f}", fontsize=8.5,
                va="bottom", ha="center", color=CEILING_COLOUR)  # fmt: skip
    ax.set_yticks(
        list(rows.values()), ["\n".join(TITLE_OF_DOCUMENT[d].rsplit(", ", 1)) for d in rows]
    )
    ax.set(xlabel="goodput, Mb/s", xlim=(0, 1200), ylim=(-0.6, top + 0.5))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    legend_below(ax, ncols=2)
    values = "; ".join(
        f"{TITLE_OF_DOCUMENT[d]}: {wide.loc[d, 'before']:g} to {wide.loc[d, 'after']:g}"
        for d in rows
    )
    shown = [*_PCI_LIMITS, *LINK_LIMIT.values()]
    bounds = ", ".join(f"{name} {limits[name]:.0f}" for name in shown)
    alt = f"Goodput before and after tuning in Mb/s. {values}. Limits: {bounds}."
    return describe(ax, alt)
