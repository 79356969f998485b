"""Names of lines: at their ends or in a legend."""

from __future__ import annotations

import itertools
import re

import matplotlib.pyplot as plt
import pytest

from netlab.charts.chart import Gallery, Panels, describe, show
from netlab.charts.line_labels import figure_of, label_lines, legend_below, spread
from netlab.charts.looks import PALETTE, line_style, text_colour, theme
from netlab.errors import BadInput


@theme()
def _figure():
    fig, ax = plt.subplots()
    for i, name in enumerate(["high", "low", "middle"]):
        ax.plot([1, 2, 3], [1, 2, [3, 1, 2][i]], label=name, **line_style(i))
    return fig, ax


def test_a_legend_is_below_a_figure_of_its_own_or_on_shared_axes():
    fig, ax = _figure()
    legend_below(ax)
    assert len(fig.legends) == 1 and ax.get_legend() is None
    with theme():
        shared, (left, right) = plt.subplots(1, 2)
    left.plot([1, 2], label="line")
    legend_below(left)
    legend_below(right)
    assert not shared.legends and left.get_legend() is not None and right.get_legend() is None


@pytest.mark.parametrize(
    "positions, gap",
    [([0, 0, 0], 1), ([5, 1, 1.2], 2), ([1, 2, 3, 10], 0.5), ([], 1), ([3], 1), ([2, 1, 1, 2], 3)],
)
def test_spread_keeps_order_and_distance(positions, gap):
    placed = spread(positions, gap)
    in_order = sorted(placed)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(in_order))
    for i, a in enumerate(positions):
        for j, b in enumerate(positions):
            if a < b:
                assert placed[i] < placed[j]


def test_spread_leaves_positions_that_are_far_enough_alone():
    assert spread([1.0, 9.0, 4.0], 2) == [1.0, 9.0, 4.0]


def test_labels_come_in_the_order_of_the_lines_with_their_colours():
    _, ax = _figure()
    texts = label_lines(ax)
    assert [t.get_text() for t in texts] == ["high", "low", "middle"]
    assert [t.get_color() for t in texts] == [text_colour(c) for c in PALETTE[:3]]


def test_a_line_that_ends_early_or_in_a_gap_is_named_at_its_last_value():
    _, ax = plt.subplots()
    ax.plot([1, 2, 3], [1, 2, float("nan")], label="gap")
    ax.plot([1, 2, 3], [3, 3, 3], label="whole")
    ax.axhline(4, label="ceiling")
    ax.plot([1, 2], [float("nan")] * 2, label="nothing")
    gap, whole = label_lines(ax)
    assert gap.xy == (2.0, 2.0) and gap.get_text() == "gap"
    assert whole.xy == (1, 3.0) and whole.xycoords == ("axes fraction", "data")


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        fig, ax = _figure()
        label_lines(ax)
        show(Panels(describe(fig, "Three lines"), ax)).save(tmp_path / name)
    first, second = ((tmp_path / n).read_bytes() for n in ("a.svg", "b.svg"))
    assert first == second
    assert b"<dc:date>" not in first


def test_a_saved_figure_carries_its_alt_text(tmp_path):
    fig, ax = _figure()
    drawn = Panels(describe(fig, 'Rate < "limit" & more'), ax)
    text = show(drawn).save(tmp_path / "deep" / "a.svg").read_text()
    assert 'role="img" aria-label="Rate &lt; &quot;limit&quot; &amp; more"' in text
    assert '<title>Rate &lt; "limit" &amp; more</title>' in text


def test_a_shown_figure_is_html_with_alt_text_and_caption():
    fig, _ = _figure()
    html = show(fig, 'A "quoted" alt', "Caption <1>")._repr_html_()
    assert re.search(r"<figure[^>]*><img [^>]*/><figcaption>Caption &lt;1&gt;</figcaption>", html)
    assert 'role="img" alt="A &quot;quoted&quot; alt"' in html
    assert not plt.fignum_exists(fig.number)


def test_described_axes_are_shown_with_their_words():
    fig, ax = _figure()
    chart = show(describe(ax, "Three lines", "of their own"))
    assert (chart.alt, chart.caption) == ("Three lines", "of their own")
    assert not plt.fignum_exists(fig.number)
    _, bare = _figure()
    with pytest.raises(BadInput, match="alt text"):
        show(bare)


def test_a_gallery_shows_its_charts():
    fig, ax = _figure()
    gallery = Gallery.of(describe(ax, "one"), describe(_figure()[0], "two"))
    assert [chart.alt for chart in gallery.charts] == ["one", "two"]
    html = gallery._repr_html_()
    assert html.index('alt="one"') < html.index('alt="two"')
    assert not plt.fignum_exists(fig.number)


@pytest.mark.parametrize("alt", ["", "  "])
def test_a_figure_without_alt_text_is_refused(alt):
    fig, _ = _figure()
    with pytest.raises(BadInput, match="alt text"):
        show(fig, alt)


def test_lines_on_a_part_of_a_figure_are_labelled_and_shown():
    fig = plt.figure()
    ax = fig.subfigures(1, 2)[0].subplots()
    ax.plot([0, 1], [0, 1], label="one")
    assert [text.get_text() for text in label_lines(ax)] == ["one"]
    legend_below(ax)
    assert figure_of(ax) is fig
    assert "<svg" in show(ax, "a line").svg
