"""Figures with their alt text, shown and saved."""

import re

import matplotlib.pyplot as plt
import pytest

from netlab.charts.chart import Chart, Gallery, describe, save_svg, show
from netlab.charts.labels import figure_of, label_lines, legend_below
from netlab.charts.palette import line_style
from netlab.charts.theme import theme
from netlab.errors import BadInput


@theme()
def _figure():
    fig, ax = plt.subplots()
    for i, name in enumerate(["high", "low", "middle"]):
        ax.plot([1, 2, 3], [1, 2, [3, 1, 2][i]], label=name, **line_style(i))
    return fig, ax


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for name in ("a.svg", "b.svg"):
        fig, ax = _figure()
        label_lines(ax)
        save_svg(fig, tmp_path / name, "Three lines")
        plt.close(fig)
    first, second = ((tmp_path / n).read_bytes() for n in ("a.svg", "b.svg"))
    assert first == second
    assert b"<dc:date>" not in first


def test_a_saved_figure_carries_its_alt_text(tmp_path):
    fig, _ = _figure()
    text = save_svg(fig, tmp_path / "deep" / "a.svg", 'Rate < "limit" & more').read_text()
    plt.close(fig)
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
    assert not plt.fignum_exists(fig.number)


@pytest.mark.parametrize("alt", ["", "  "])
def test_a_figure_without_alt_text_is_refused(alt):
    fig, _ = _figure()
    with pytest.raises(BadInput, match="alt text"):
        show(fig, alt)
    plt.close(fig)


def test_a_gallery_holds_its_charts_in_order():
    fig, _ = _figure()
    one = show(fig, "one")
    html = Gallery((one, Chart(one.svg, "two")))._repr_html_()
    assert html.index('alt="one"') < html.index('alt="two"')


def test_lines_on_a_part_of_a_figure_are_labelled_and_shown():
    fig = plt.figure()
    ax = fig.subfigures(1, 2)[0].subplots()
    ax.plot([0, 1], [0, 1], label="one")
    assert [text.get_text() for text in label_lines(ax)] == ["one"]
    legend_below(ax)
    assert figure_of(ax) is fig
    assert "<svg" in show(ax, "a line").svg
