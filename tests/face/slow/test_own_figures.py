"""A figure of one's own in netlab's look: shown with words, saved in any format, its numbers."""

from __future__ import annotations

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn as sns
import seaborn.objects as so
from refusals import refused

import netlab
from netlab.errors import BadInput, NetlabError

FRAME = pd.DataFrame(
    {"streams": [1, 4] * 4, "rate_MBps": range(8), "tuning": ["none"] * 4 + ["full"] * 4}
)


def axes():
    ax = plt.figure().add_subplot()
    ax.plot([1, 2], [3, 4], label="measured")
    ax.set(xlabel="streams", ylabel="goodput, MB/s", title="One path")
    return ax


def facets():
    with netlab.theme():
        return sns.relplot(FRAME, x="streams", y="rate_MBps", hue="tuning", col="tuning", height=2)


OWN = {
    "axes": (axes, "Figure of goodput, MB/s over streams. One path."),
    "figure": (lambda: axes().figure, "Figure of goodput, MB/s over streams. One path."),
    "part of a figure": (
        lambda: sns.scatterplot(FRAME, x="streams", y="rate_MBps",
                                ax=plt.figure().subfigures(1, 2)[0].subplots()).figure,
        "Figure of rate_MBps over streams.",
    ),
    "FacetGrid": (
        facets,
        "Figure of rate_MBps over streams. tuning = none, tuning = full. tuning: none, full.",
    ),
    "JointGrid": (
        lambda: sns.jointplot(FRAME, x="streams", y="rate_MBps", height=3),
        "Figure of rate_MBps, Count over streams, Count.",
    ),
    "objects": (
        lambda: so.Plot(FRAME, "streams", "rate_MBps").add(so.Dot()),
        "Figure of rate_MBps over streams.",
    ),
    "ClusterGrid": (
        lambda: sns.clustermap(
            FRAME.pivot_table(index="tuning", columns="streams", values="rate_MBps"),
            figsize=(3, 3), row_cluster=False, col_cluster=False,
        ),
        "Figure of tuning over streams.",
    ),
    "pandas": (
        lambda: FRAME.plot(x="streams", y="rate_MBps", subplots=True, xlabel="streams"),
        "Figure of streams. lines: rate_MBps.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", OWN)
def test_any_figure_is_a_chart_in_words_and_is_closed(kind):
    make, words = OWN[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        chart = netlab.show(make())
    assert chart.alt == words and "<svg role" in chart.svg
    assert plt.get_fignums() == []
    assert netlab.show(make(), "My words", "My caption").caption == "My caption"


def test_a_chart_is_saved_in_the_format_of_its_suffix_and_the_same_each_time(tmp_path):
    chart = netlab.show(facets(), "Rates")
    begins = {".svg": b"<svg ", ".png": b"\x89PNG", ".pdf": b"%PDF", ".PNG": b"\x89PNG"}
    for suffix, start in begins.items():
        path = chart.save(tmp_path / "deep" / f"mine{suffix}")
        first = path.read_bytes()
        assert first.startswith(start) and b"Rates" in first
        assert chart.save(path).read_bytes() == first
    assert chart.save(tmp_path / "large.png", dpi=300).stat().st_size > len(first)
    with refused(BadInput, "E-CHARTS-013"):
        chart.save(tmp_path / "mine.bmp")
    (tmp_path / "file").touch()
    with refused(NetlabError, "E-CHARTS-014"):
        chart.save(tmp_path / "file" / "mine.svg")


def test_the_numbers_of_a_chart_are_a_frame():
    data = netlab.show(axes()).data
    assert data[["series", "x", "y"]].to_numpy().tolist() == [
        ["measured", 1.0, 3.0],
        ["measured", 2.0, 4.0],
    ]
    assert netlab.show(plt.figure(), "Nothing").data.empty


@pytest.mark.parametrize("other", [FRAME, "a.png", None, np.array([])])
def test_something_else_is_refused(other):
    with refused(BadInput, "E-CHARTS-015"):
        netlab.show(other)


def test_a_figure_without_labels_needs_words():
    with refused(BadInput, "E-CHARTS-008"):
        netlab.show(plt.figure())


def test_the_theme_ends_with_its_block_and_is_a_style_sheet_too():
    before = dict(plt.rcParams)
    with netlab.theme():
        within = dict(plt.rcParams)
    assert dict(plt.rcParams) == before != within
    with plt.style.context("netlab.charts.netlab"):
        assert dict(plt.rcParams) == within
    assert plt.rcParams["axes.prop_cycle"].by_key()["color"] != netlab.palette()
    assert within["axes.prop_cycle"].by_key()["color"] == netlab.palette()


def test_labels_of_seaborn_and_matplotlib_are_not_cut():
    with netlab.theme():
        figure, ax = plt.subplots(figsize=(2, 2))
    ax.set(xlabel="streams", ylabel="a label as long\nas a label can be\nin three lines")
    chart = netlab.show(figure)
    width = float(chart.svg.split('width="')[1].split("pt")[0])
    assert width > 2 * 72  # wider than asked for: as wide as its labels need


def test_a_colour_has_one_meaning_in_figures_of_ones_own():
    order = pd.CategoricalDtype(["none", "kernel", "full"], ordered=True)
    some = pd.Series(["full", "none", None], dtype=order, name="tuning")
    assert netlab.palette(some) == netlab.palette(["none", "kernel", "full"], "tuning")
    assert netlab.palette(pd.Series([9000, 1500], name="mtu_B"))[9000] == netlab.palette()[1]
    facet = sns.relplot(FRAME, x="streams", y="rate_MBps", hue="tuning", height=2,
                        palette=netlab.palette(FRAME["tuning"]))  # fmt: skip
    assert len(facet.legend.get_texts()) == 2
    plt.close("all")
