"""Charts of a run after measuring: its samples, and those of its path."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from netlab.analysis import cell_texts, printed
from netlab.charts import line_labels, looks
from netlab.charts.chart import Panels, describe
from netlab.charts.design import WIDTH_IN
from netlab.units import arrows


@looks.theme()
def samples(line: pd.DataFrame, run_id: str, *, ax: Axes | None = None) -> Axes:
    """Draw the goodput of one run over time; the measured window is shaded."""
    ax = ax or looks.new_axes((WIDTH_IN, 2.6))
    window = line.loc[line["in_window"], "t_s"]
    if len(window):
        ax.axvspan(window.min(), window.max(), color=looks.BAND_COLOUR, zorder=0)
    style = {**looks.other_style(0), "markersize": 3.5}
    ax.plot(line["t_s"], line["goodput_MBps"], label="goodput", **style)
    ax.set(xlabel="s", ylabel="goodput, MB/s", ylim=(0, None), title=arrows(run_id))
    reach = line.loc[line["in_window"], "goodput_MBps"]
    alt = (
        f"Line of the goodput of {run_id} over {len(line)} samples, in the window "
        f"{cell_texts.number(reach.min())} to {cell_texts.number(reach.max())} MB/s."
    )
    return describe(ax, alt, "Grey: the measured window.")


@looks.theme()
def under_load_panels(line: pd.DataFrame, run_id: str, title: str = "") -> Panels:
    """Draw the goodput of a run over time, and below it the round trips of its latency probe."""
    fig, axes = plt.subplots(
        2, 1, figsize=(WIDTH_IN, 3.6), sharex=True, height_ratios=(2, 1.2), squeeze=False
    )
    above, below = axes[:, 0]
    samples(line, run_id, ax=above).set(xlabel="", title=arrows(title or run_id))
    known, words = line[line["rtt_p50_us"].notna()], []
    for i, (name, label) in enumerate({"rtt_p99_us": "99 %", "rtt_p50_us": "median"}.items(), 1):
        style = {**looks.other_style(i), "markersize": 3.5}
        below.plot(known["t_s"], known[name] / 1e3, label=label, **style)
        words.append(f"{label} {printed.reach(known[name] / 1e3)} ms")
    below.set(xlabel="s", ylabel="RTT, ms", ylim=(0, None))
    line_labels.label_lines(below)
    alt = f"Lines of goodput and RTT of {run_id} over {len(known)} samples: {'; '.join(words)}."
    caption = "RTT of the latency probes sent in each interval. Grey: the measured window."
    return Panels(describe(fig, alt, caption), axes)
