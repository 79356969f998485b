"""Prose of notebooks that show measured results states no figure that another campaign changes."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
FIGURE = re.compile(
    r"(?<![\w.,])(\d[\d,.]*(?: to \d[\d,.]*)? (?:[GMk]?B/s|[GMk]b/s|[GMk]B|ms|µs|s|min|minutes|%))"
    r"(?![\w/])"
)

STATED = {
    "03-openlab-measured": {"95 %": "rule", "0.3 s": "goal"},
    "15-then-and-now": {
        **{"3 %": "assumption on 2003", "4 to 5 %": "headers", "1 %": "headers", "4 %": "headers"},
        **{"80 %": "report of 2003", "70 %": "report of 2003"},
    },
    "16-agreement": {"0.1 s": "interval of other tools"},
    "17-slac-measured": {
        **{"183.022 ms": "setting", "2.5 Gb/s": "setting", "57 MB": "product of both"},
        **{"30 ms": "setting", "500 Mb/s": "setting"},
        **{"2185 Mb/s": "figure of 2003", "50 MB": "figure of 2003"},
        "67 MB": "buffer of 32 M, doubled",
    },
    "21-fleet": {"10 %": "rule", "2 %": "rule"},
}
"""Figures that are settings, rules or published, by notebook: no campaign changes them."""


def prose(path: Path) -> str:
    cells = nbformat.read(path, as_version=4).cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def shows_results(path: Path) -> bool:
    cells = nbformat.read(path, as_version=4).cells
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return bool(re.search(r"netlab\.(Results|Fleet)\(|\bcomparison\(|\.compare\(", code))


SHOWN = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if shows_results(path)]


def test_the_notebooks_of_measured_results_are_known():
    names = [path.stem[:2] for path in SHOWN]
    assert names == ["03", "15", "16", "17", "18", "19", "20", "21"]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.stem)
def test_a_figure_in_prose_is_a_setting_a_rule_or_published(path):
    found = set(FIGURE.findall(prose(path)))
    assert found == set(STATED.get(path.stem, {}))


@pytest.mark.parametrize(
    ("sentence", "figures"),
    [
        ("28 MB arrive at once, every 93 to 97 ms", ["28 MB", "93 to 97 ms"]),
        ("23 s to fill this path with frames of 9000 B", ["23 s"]),
        ("these rows stay below 100 %", ["100 %"]),
        ("frames of 1500 B and `tcp_wmem`", []),
    ],
)
def test_a_measured_figure_is_found(sentence, figures):
    assert FIGURE.findall(sentence) == figures
