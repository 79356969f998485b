"""Theme, styles and output of all figures."""

import colorsys
import itertools
import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

from netlab.charts import style
from netlab.errors import BadInput


def _luminance(colour):
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _lightness(colour):
    """CIE L*, 0 to 100."""
    y = _luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


@style.theme()
def _figure():
    fig, ax = plt.subplots()
    for i, name in enumerate(["high", "low", "middle"]):
        ax.plot([1, 2, 3], [1, 2, [3, 1, 2][i]], label=name, **style.line_style(i))
    return fig, ax


def test_the_theme_is_set_inside_its_context_only():
    before = dict(mpl.rcParams)
    with style.theme():
        assert mpl.rcParams["svg.hashsalt"] == "netlab"
        inside = mpl.rcParams["axes.spines.top"]
    assert inside is False
    assert dict(mpl.rcParams) == before


def test_an_mtu_has_one_look_whatever_others_there_are():
    both, three = style.mtu_styles([9000, 16114]), style.mtu_styles([1500, 9000, 16114])
    assert both[9000] == three[9000] and both[16114] == three[16114]
    assert style.mtu_styles([1500, 4000, 8948]) == {
        1500: style.line_style(0), 4000: style.line_style(1), 8948: style.line_style(2),
    }  # fmt: skip
    assert len({str(s) for s in style.mtu_styles([1280, 1500, 4000, 9000]).values()}) == 4


def test_other_lines_have_no_colour_of_an_mtu():
    mtus = {s["color"] for s in style.mtu_styles([1500, 9000, 16114]).values()}
    assert not mtus & {style.second_style(i)["color"] for i in range(3)}


def test_a_legend_is_below_a_figure_of_its_own_or_on_shared_axes():
    fig, ax = _figure()
    style.legend_below(ax)
    assert len(fig.legends) == 1 and ax.get_legend() is None
    with style.theme():
        shared, (left, right) = plt.subplots(1, 2)
    left.plot([1, 2], label="line")
    style.legend_below(left)
    style.legend_below(right)
    assert not shared.legends and left.get_legend() is not None and right.get_legend() is None
    plt.close("all")


def test_every_colour_has_contrast_three_to_one_on_white():
    for colour in style.PALETTE:
        assert 1.05 / (_luminance(colour) + 0.05) >= 3


def test_text_in_a_line_s_colour_has_contrast_four_and_a_half_to_one():
    for colour in style.PALETTE:
        assert 1.05 / (_luminance(style.text_colour(colour)) + 0.05) >= 4.45
    assert style.text_colour("#003f7f") == "#003f7f"


def test_the_first_four_colours_are_apart_in_grey():
    grey = sorted(_lightness(colour) for colour in style.PALETTE[:4])
    assert min(b - a for a, b in itertools.pairwise(grey)) >= 14


def test_colours_differ_in_hue_or_lightness():
    hues = {
        round(colorsys.rgb_to_hls(*(int(c[i : i + 2], 16) for i in (1, 3, 5)))[0], 2)
        for c in style.PALETTE
    }
    assert len(hues) == len(style.PALETTE)


def test_lines_differ_by_marker_and_dash_too():
    styles = [style.line_style(i) for i in range(6)]
    assert len({s["marker"] for s in styles}) == 6
    assert len({str(s["linestyle"]) for s in styles}) == 6
    assert style.line_style(6) == style.line_style(0)


@pytest.mark.parametrize(
    "positions, gap",
    [([0, 0, 0], 1), ([5, 1, 1.2], 2), ([1, 2, 3, 10], 0.5), ([], 1), ([3], 1), ([2, 1, 1, 2], 3)],
)
def test_spread_keeps_order_and_distance(positions, gap):
    placed = style.spread(positions, gap)
    in_order = sorted(placed)
    assert all(b - a >= gap - 1e-9 for a, b in itertools.pairwise(in_order))
    for i, a in enumerate(positions):
        for j, b in enumerate(positions):
            if a < b:
                assert placed[i] < placed[j]


def test_spread_leaves_positions_that_are_far_enough_alone():
    assert style.spread([1.0, 9.0, 4.0], 2) == [1.0, 9.0, 4.0]


def test_labels_come_in_the_order_of_the_lines_with_their_colours():
    fig, ax = _figure()
    texts = style.label_lines(ax)
    assert [t.get_text() for t in texts] == ["high", "low", "middle"]
    assert [t.get_color() for t in texts] == [style.text_colour(c) for c in style.PALETTE[:3]]
    plt.close(fig)


def test_labels_of_another_length_are_refused():
    fig, ax = _figure()
    with pytest.raises(BadInput, match="2 labels for 3 lines"):
        style.label_lines(ax, ["a", "b"])
    plt.close(fig)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        fig, ax = _figure()
        style.label_lines(ax)
        style.save_svg(fig, tmp_path / name, "Three lines")
        plt.close(fig)
    first, second = ((tmp_path / n).read_bytes() for n in ("a.svg", "b.svg"))
    assert first == second
    assert b"<dc:date>" not in first


def test_a_saved_figure_carries_its_alt_text(tmp_path):
    fig, _ = _figure()
    text = style.save_svg(fig, tmp_path / "deep" / "a.svg", 'Rate < "limit" & more').read_text()
    plt.close(fig)
    assert 'role="img" aria-label="Rate &lt; &quot;limit&quot; &amp; more"' in text
    assert '<title>Rate &lt; "limit" &amp; more</title>' in text


def test_a_shown_figure_is_html_with_alt_text_and_caption():
    fig, _ = _figure()
    html = style.show(fig, 'A "quoted" alt', "Caption <1>")._repr_html_()
    assert re.search(r"<figure[^>]*><img [^>]*/><figcaption>Caption &lt;1&gt;</figcaption>", html)
    assert 'role="img" alt="A &quot;quoted&quot; alt"' in html
    assert not plt.fignum_exists(fig.number)


def test_described_axes_are_shown_with_their_words():
    fig, ax = _figure()
    chart = style.show(style.describe(ax, "Three lines", "of their own"))
    assert (chart.alt, chart.caption) == ("Three lines", "of their own")
    assert not plt.fignum_exists(fig.number)
    _, bare = _figure()
    with pytest.raises(BadInput, match="alt text"):
        style.show(bare)
    plt.close("all")


def test_a_gallery_shows_its_charts():
    fig, ax = _figure()
    gallery = style.Gallery.of(style.describe(ax, "one"), style.describe(_figure()[0], "two"))
    assert [chart.alt for chart in gallery.charts] == ["one", "two"]
    assert not plt.fignum_exists(fig.number)


@pytest.mark.parametrize("alt", ["", "  "])
def test_a_figure_without_alt_text_is_refused(alt):
    fig, _ = _figure()
    with pytest.raises(BadInput, match="alt text"):
        style.show(fig, alt)
    plt.close(fig)


def test_a_gallery_holds_its_charts_in_order():
    fig, _ = _figure()
    one = style.show(fig, "one")
    html = style.Gallery((one, style.Chart(one.svg, "two")))._repr_html_()
    assert html.index('alt="one"') < html.index('alt="two"')


def test_lines_on_a_part_of_a_figure_are_labelled_and_shown():
    fig = plt.figure()
    ax = fig.subfigures(1, 2)[0].subplots()
    ax.plot([0, 1], [0, 1], label="one")
    assert [text.get_text() for text in style.label_lines(ax)] == ["one"]
    style.legend_below(ax)
    assert style.figure_of(ax) is fig
    assert "<svg" in style.show(ax, "a line").svg
