"""What a notebook shows of results and comparisons is there by name."""

from __future__ import annotations

import synthetic
from face.views import methods, shown

import netlab
from netlab import study as studies
from netlab.charts.chart import Chart
from netlab.report.tables import Sentence


def test_results_have_tables_charts_with_alt_text_and_sentences(results):
    tables, charts = results.tables, results.charts
    for name in methods(tables):
        if name not in ("factors", "by_factors"):
            assert shown(getattr(tables, name)()), name
    assert len(tables.cells("percent").tables) == len(results.groups)
    assert tables.summary().frame.equals(results.tables.summary().frame)
    for drawn in (charts.opening(), charts.drift(), charts.overhead()):
        assert isinstance(drawn, Chart) and len(drawn.alt) > 40
    assert len(charts.panels().charts) == len(results.groups)
    assert "MB/s" in repr(results.answer) and isinstance(results.answer, Sentence)
    assert "The strongest step is" in repr(results.strongest)
    assert shown(results.headline) and shown(results.gate)


def test_generators_are_compared_within_the_bound_given(tmp_path):
    study = studies.load(synthetic.openlab_file().with_name("agreement.yml"))

    def value(_study, group, _tuning, _mtu_B, streams):
        return 100.0 + streams + 30 * (group.generator == "nuttcp"), "link"

    synthetic.store_of(tmp_path / "store", study, synthetic.runs_of(study, value=value))
    results = netlab.Results("agreement", results=tmp_path / "store")
    found = results.agreement(60)
    assert found.bound_percent == 60 and set(found.frame["verdict"]) == {"the same"}
    assert "faster" in set(results.agreement().frame["verdict"])
    assert len(found.charts.charts) == 2 and shown(found)
    for name in ("summary", "generators", "statement", "cells", "meters"):
        assert shown(getattr(found, name)()), name
