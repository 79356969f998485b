"""netlab's charts are the same whatever the matplotlibrc of their reader says."""

from __future__ import annotations

import os
import subprocess
import sys

SETTINGS = """\
text.usetex: True
font.size: 22
font.family: serif
mathtext.fontset: cm
axes.unicode_minus: False
axes.formatter.use_locale: True
axes.xmargin: 0.3
axes.autolimit_mode: round_numbers
lines.linestyle: :
lines.scale_dashes: False
errorbar.capsize: 9
legend.loc: lower left
figure.dpi: 31
figure.titlesize: 40
savefig.transparent: True
savefig.pad_inches: 2
svg.image_inline: False
path.sketch: 1, 100, 2
"""
DRAW = """\
import sys
from pathlib import Path
import netlab

results = netlab.Results("openlab-table-2")
charts = results.charts
drawn = [netlab.show(results.plot("Linux64 -> Linux64"))]
for gallery in (charts.opening(), charts.panels(), charts.drift(), charts.overhead()):
    drawn += getattr(gallery, "charts", [gallery])
for i, chart in enumerate(drawn):
    chart.save(Path(sys.argv[1]) / f"{i}.svg")
    chart.save(Path(sys.argv[1]) / f"{i}.png")
"""
OWN = """\
import matplotlib.pyplot as plt
import netlab

with netlab.theme():
    assert plt.rcParams["axes.xmargin"] == 0.3
    axes = plt.figure().add_subplot()
    axes.plot([1, 2], [-1, -2])
assert "\\u2212" not in netlab.show(axes, "Mine").svg
"""


def run(code: str, *words: str, **changes: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, "MPLBACKEND": "agg", **changes},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_matplotlibrc_changes_no_chart_of_netlab(tmp_path):
    (tmp_path / "matplotlibrc").write_text(SETTINGS)
    sets = []
    for name, changes in {"without": {}, "with": {"MATPLOTLIBRC": str(tmp_path)}}.items():
        run(DRAW, str(tmp_path / name), **changes)
        sets.append({file.name: file.read_bytes() for file in (tmp_path / name).iterdir()})
    assert sets[0] == sets[1] and len(sets[0]) >= 10


def test_a_figure_of_ones_own_keeps_the_settings_that_the_theme_does_not_state(tmp_path):
    settings = SETTINGS.replace("text.usetex: True\n", "")
    (tmp_path / "matplotlibrc").write_text(settings)
    run(OWN, MATPLOTLIBRC=str(tmp_path))
