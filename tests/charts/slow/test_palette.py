"""One colour has one meaning, is seen on white and in grey."""

from __future__ import annotations

import ast
import re
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib.colors

from netlab.charts import looks
from netlab.charts.looks import (
    OTHERS,
    PALETTE,
    SECOND_SERIES,
    SIDES,
    level_styles,
    line_style,
    mtu_styles,
    other_style,
    second_style,
    side_style,
    text_colour,
)

CHARTS = Path(looks.__file__).parent
MEANINGS = {
    "MTU": PALETTE[:SECOND_SERIES],
    "tuning": PALETTE[SECOND_SERIES:],
    "then and now": tuple(SIDES.values()),
    "other": OTHERS,
}


def _luminance(colour):
    """Relative luminance as WCAG 2.1 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _lightness(colour):
    """CIE L*, 0 to 100."""
    y = _luminance(colour)
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def contrast(colour):
    return 1.05 / (_luminance(colour) + 0.05)


def test_a_colour_has_one_meaning_is_seen_on_white_and_differs_from_others_of_a_chart():
    every = [colour for colours in MEANINGS.values() for colour in colours]
    assert len(every) == len(set(every))
    assert all(contrast(colour) >= 3 for colour in every)
    for colours in MEANINGS.values():
        for one, other in combinations(colours, 2):
            a, b = (matplotlib.colors.to_rgb(colour) for colour in (one, other))
            assert sum(abs(x - y) for x, y in zip(a, b, strict=True)) > 0.25, (one, other)


def test_only_the_theme_and_the_palette_name_colours_of_lines():
    """Charts take a colour by its meaning: no module picks one from the list by number."""
    for path in CHARTS.glob("*.py"):
        if path.name == "looks.py":
            continue
        text = path.read_text()
        imports = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ImportFrom)]
        names = {alias.name for node in imports for alias in node.names}
        assert not names & {"PALETTE", "line_style", "SECOND_SERIES"}, path.name
        assert not re.search(r"#[0-9a-fA-F]{6}", text), path.name


def test_levels_of_a_factor_have_the_colours_of_its_meaning():
    assert level_styles("mtu_B", [16114, 1500]) == mtu_styles([1500, 16114])
    assert level_styles("tuning", ["none", "full"]) == {
        "none": second_style(0),
        "full": second_style(1),
    }
    assert level_styles("streams", [4])[4] == other_style(0)
    assert side_style("then")["color"] != side_style("now")["color"]


def test_an_mtu_has_one_look_whatever_others_there_are():
    both, three = mtu_styles([9000, 16114]), mtu_styles([1500, 9000, 16114])
    assert both[9000] == three[9000] and both[16114] == three[16114]
    assert mtu_styles([1500, 4000, 8948]) == {
        1500: line_style(0), 4000: line_style(1), 8948: line_style(2),
    }  # fmt: skip
    assert len({str(s) for s in mtu_styles([1280, 1500, 4000, 9000]).values()}) == 4


def test_lines_differ_in_grey_by_marker_and_dash_and_text_has_contrast():
    for colour in PALETTE:
        assert contrast(text_colour(colour)) >= 4.45
    assert text_colour("#003f7f") == "#003f7f"
    grey = sorted(_lightness(colour) for colour in PALETTE[:4])
    assert min(b - a for a, b in pairwise(grey)) >= 14
    styles = [line_style(i) for i in range(6)]
    assert len({s["marker"] for s in styles}) == 6
    assert len({str(s["linestyle"]) for s in styles}) == 6
    more = [line_style(i) for i in range(36)]
    assert len({(s["color"], s["marker"]) for s in more}) == 36 and line_style(36) == more[0]
