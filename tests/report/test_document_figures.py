"""Figures of the PDF: as wide as their text needs, and never higher than a page."""

import pytest

from netlab.report.document import HIGHEST_PT, LINE_PT, percent_of_line

SVG = '<svg width="{width}pt" height="{height}pt"><text style="font: {px}px x"/></svg>'


def test_a_figure_is_as_wide_as_its_smallest_text_needs():
    assert percent_of_line(SVG.format(width=300, height=200, px=10)) == 70
    assert percent_of_line(SVG.format(width=600, height=200, px=8)) == 100
    assert percent_of_line("<svg>") == 100


@pytest.mark.parametrize("width", [100, 216, 470, 700])
@pytest.mark.parametrize("height", [700, 900, 3000])
def test_a_high_figure_fits_on_a_page(width, height):
    percent = percent_of_line(SVG.format(width=width, height=height, px=8))
    assert 0 < LINE_PT * percent / 100 * height / width <= HIGHEST_PT
