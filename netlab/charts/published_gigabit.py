"""Chart of the gigabit articles: before and after against what bounds a host."""

from __future__ import annotations

import matplotlib.pyplot as plt

from netlab import published
from netlab.charts.style import (
    CEILING_COLOUR,
    CHART_SIZE_IN,
    DASHES,
    Chart,
    apply_style,
    line_style,
    show,
)
from netlab.published.gigabit_hosts import TITLE_OF_DOCUMENT, ceilings

_SHOWN_CEILINGS = {
    "PCI 32 bit, 33 MHz, in practice": "PCI 32/33\nin practice",
    "TCP on the link, MTU 1500": "TCP, MTU\n1500",
    "PCI 32 bit, 33 MHz": "PCI\n32/33",
}


def before_and_after() -> Chart:
    """Throughput before and after tuning, with the limits of bus and link."""
    wide = published.load("gigabit-tuning").pivot(
        index="document", columns="phase", values="rate_Mbps"
    )
    limits = ceilings().set_index("name")["ceiling_Mbps"][list(_SHOWN_CEILINGS)]
    apply_style()
    fig, ax = plt.subplots(figsize=(CHART_SIZE_IN[0], 2.9))
    rows = {
        document: len(TITLE_OF_DOCUMENT) - 1 - i for i, document in enumerate(TITLE_OF_DOCUMENT)
    }
    for document, row in rows.items():
        before, after = wide.loc[document, "before"], wide.loc[document, "after"]
        arrow = {"arrowstyle": "->", "color": "#888888", "shrinkA": 7, "shrinkB": 7}
        ax.annotate("", (after, row), (before, row), arrowprops=arrow)
        for i, (phase, value) in enumerate((("before", before), ("after", after))):
            style = line_style(i) | {"linestyle": "none", "markersize": 9}
            ax.plot(value, row, label=phase if row else f"_{phase}", **style)
            ax.annotate(f"{value:g}", (value, row), xytext=(0, 9), textcoords="offset points",
                        ha="center", fontsize=9)  # fmt: skip
    for name, limit in limits.items():
        ax.axvline(limit, color=CEILING_COLOUR, linestyle=DASHES[1], linewidth=1.2, zorder=0)
        ax.text(limit, 1.62, f"{_SHOWN_CEILINGS[name]}\n{limit:.0f}", fontsize=8.5, va="bottom",
                ha="center", color=CEILING_COLOUR)  # fmt: skip
    ax.set_yticks(list(rows.values()), [TITLE_OF_DOCUMENT[d].replace(", ", "\n", 1) for d in rows])
    ax.set(xlabel="Throughput, Mb/s", xlim=(0, 1150), ylim=(-0.5, 1.6))
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    fig.legend(loc="outside lower center", ncols=2)
    values = "; ".join(
        f"{TITLE_OF_DOCUMENT[d]}: {wide.loc[d, 'before']:g} to {wide.loc[d, 'after']:g}"
        for d in rows
    )
    bounds = ", ".join(f"{name} {limit:.0f}" for name, limit in limits.items())
    return show(fig, f"Throughput before and after tuning in Mb/s. {values}. Limits: {bounds}.")
