"""Matrix of hosts: every link has its place, and slow directions have a mark."""

from __future__ import annotations

import pandas as pd
import pytest
from refusals import refused

from netlab.charts.chart import show
from netlab.errors import BadInput
from netlab.fleet.charts import host_matrix

LINKS = pd.DataFrame(
    [("a", "b", 0.8, 1.1), ("b", "a", 1.1, 0.8), ("a", "c", 1.0, None), ("c", "b", 1.3, None)],
    columns=["sender", "receiver", "share", "reverse"],
)


def test_a_link_is_at_its_sender_and_receiver_and_others_are_blank():
    ax = host_matrix(LINKS)
    mesh = ax.collections[0]
    values = mesh.get_array().reshape(3, 3)
    assert values[0, 1] == pytest.approx(80) and values[2, 1] == pytest.approx(130)
    assert values.mask.sum() == 5
    assert mesh.norm.vmin + mesh.norm.vmax == pytest.approx(200)
    (marks,) = ax.lines
    assert [(x // 1, y // 1) for x, y in zip(*marks.get_data(), strict=True)] == [(1, 0)]


def test_the_alt_text_names_the_slowest_links_and_counts_asymmetric_ones():
    chart = show(host_matrix(LINKS))
    assert "4 links between 3 hosts" in chart.alt
    assert "a to b 80 %, a to c 100 %, b to a 110 %" in chart.alt
    assert "1 of 4 are slower than their other direction" in chart.alt


def test_no_links_are_refused():
    with refused(BadInput, "E-CHARTS-010"):
        host_matrix(LINKS.iloc[:0])
