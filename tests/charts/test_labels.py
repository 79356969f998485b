"""Names of lines: at their ends or in a legend."""

import itertools

import matplotlib.pyplot as plt
import pytest

from netlab.charts.labels import label_lines, legend_below, spread
from netlab.charts.palette import PALETTE, line_style, text_colour
from netlab.charts.theme import theme
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
    fig, ax = _figure()
    texts = label_lines(ax)
    assert [t.get_text() for t in texts] == ["high", "low", "middle"]
    assert [t.get_color() for t in texts] == [text_colour(c) for c in PALETTE[:3]]
    plt.close(fig)


def test_a_line_that_ends_early_or_in_a_gap_is_named_at_its_last_value():
    _, ax = plt.subplots()
    ax.plot([1, 2, 3], [1, 2, float("nan")], label="gap")
    ax.plot([1, 2, 3], [3, 3, 3], label="whole")
    ax.axhline(4, label="ceiling")
    ax.plot([1, 2], [float("nan")] * 2, label="nothing")
    gap, whole = label_lines(ax)
    assert gap.xy == (2.0, 2.0) and gap.get_text() == "gap"
    assert whole.xy == (1, 3.0) and whole.xycoords == ("axes fraction", "data")


def test_labels_of_another_length_are_refused():
    fig, ax = _figure()
    with pytest.raises(BadInput, match="2 labels for 3 lines"):
        label_lines(ax, ["a", "b"])
    plt.close(fig)
