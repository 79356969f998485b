"""Charts of a design before measuring: order, cells, knob values."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import cell_texts
from netlab.charts import line_labels, looks
from netlab.charts.chart import describe
from netlab.charts.forest import name_rows
from netlab.study import Study
from netlab.units import arrows

ROW_IN = 0.27
WIDTH_IN = 6.4


def _rows(
    plan: pd.DataFrame, study: Study, ax: Axes | None
) -> tuple[Axes, list[tuple[int, str, dict, pd.DataFrame]]]:
    """Axes with a row a tuning and MTU of a plan, and place, name, style and runs of each."""
    labels = cell_texts.tuning_labels(plan, study)
    ranked = plan.assign(
        rank=plan["tuning"].map(list(labels).index), mtu_B=plan["mtu_B"].fillna(0).astype(int)
    )
    parts = list(ranked.groupby(["rank", "tuning", "mtu_B"]))
    names = [
        f"{labels[t]}, {f'{mtu_B} B' if mtu_B else 'MTU as found'}" for (_, t, mtu_B), _ in parts
    ]
    styles = looks.mtu_styles(ranked["mtu_B"])
    ax = ax or looks.new_axes((WIDTH_IN, 1.1 + ROW_IN * len(parts)))
    name_rows(ax, names)
    return ax, [
        (row, names[row], {**styles[mtu_B], "linestyle": "none"}, part)
        for row, ((_, _, mtu_B), part) in enumerate(parts)
    ]


@looks.theme()
def order(plan: pd.DataFrame, study: Study, *, ax: Axes | None = None) -> Axes:
    """Draw the runs of a plan in the order of measuring, a row a tuning and MTU."""
    ax, rows = _rows(plan, study, ax)
    for row, name, style, part in rows:
        bar = {"marker": "|", "markersize": 9, "markeredgewidth": 0.9}
        style |= {**bar, "markeredgecolor": style["color"]}
        ax.plot(part["order"], [row] * len(part), label=name, **style)
    for start in plan.groupby("round")["order"].min():
        ax.axvline(start - 0.5, color=looks.CEILING_COLOUR, linewidth=0.7, zorder=0)
    ax.set(xlabel="order of measuring (lines: starts of rounds)", title="Runs in their order")
    rounds = plan["round"].nunique()
    alt = (
        f"Marks of {len(plan)} runs in the order of measuring, one row a tuning and MTU; "
        f"{rounds} round{'s' * (rounds != 1)}, each with all rows in an order of its own."
    )
    return describe(ax, alt)


@looks.theme()
def cells(plan: pd.DataFrame, study: Study, title: str, *, ax: Axes | None = None) -> Axes:
    """Draw a dot for each cell of a design: streams by tuning and MTU, coloured by MTU."""
    streams, words = sorted(plan["streams"].unique()), []
    ax, rows = _rows(plan, study, ax)
    for row, name, style, part in rows:
        counts = sorted(part["streams"].unique())
        places = [streams.index(count) for count in counts]
        ax.plot(places, [row] * len(places), label=name, **style | {"markersize": 8})
        words.append(f"{name}: {', '.join(map(str, counts))} streams")
    ax.set_xticks(range(len(streams)), [str(count) for count in streams])
    ax.set_xlim(-0.5, len(streams) - 0.5)
    ax.set(xlabel="streams", title=arrows(title))
    return describe(ax, f"Dots of the cells of {title}. {'; '.join(words)}.")


@looks.theme()
def knob_values(
    values: Mapping[str, Mapping[str, float]], chosen: str, *, ax: Axes | None = None
) -> Axes:
    """Draw numeric values of knobs on a logarithmic axis, a colour a tuning."""
    names = list(values[chosen])
    ax = ax or looks.new_axes((WIDTH_IN, 1.3 + ROW_IN * max(1, len(names))))
    for i, (label, settings) in enumerate(values.items()):
        style = {**looks.second_style(i), "linestyle": "none", "markersize": 8}
        if label != chosen:
            style |= {"markerfacecolor": "white", "markeredgecolor": style["color"]}
        rows = [row for row, name in enumerate(names) if name in settings]
        ax.plot([settings[names[row]] for row in rows], rows, label=label, **style)
    ax.set_xscale("symlog", linthresh=1)
    name_rows(ax, names)
    ax.set(xlabel="value, in the unit of the knob (logarithmic)", title=f"{chosen}: values")
    line_labels.legend_below(ax, ncols=len(values))
    words = "; ".join(f"{name} {value:g}" for name, value in values[chosen].items())
    return describe(ax, f"Dots of the values of knobs under {chosen}: {words or 'none'}.")
