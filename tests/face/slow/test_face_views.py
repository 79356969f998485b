"""What a notebook shows of results, comparisons and documents is there by name."""

from __future__ import annotations

import inspect

import pytest
import synthetic
from refusals import refused

import netlab
from netlab import study as studies
from netlab.charts.chart import Chart, Gallery
from netlab.errors import BadInput
from netlab.files.tables import Table
from netlab.longpath.view import LongPathResults
from netlab.openlab.documents import DOCUMENTS
from netlab.report.tables import Sentence, Tables


def shown(one: object) -> bool:
    """True for what a notebook shows and a terminal prints."""
    return bool(one._repr_html_()) and bool(repr(one))


def methods(owner: object) -> list[str]:
    """Public methods that need no argument."""
    found = []
    for name, member in inspect.getmembers(owner, inspect.isroutine):
        if name.startswith("_"):
            continue
        parameters = inspect.signature(member).parameters.values()
        if all(p.default is not inspect.Parameter.empty for p in parameters):
            found.append(name)
    return found


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


def test_results_stand_beside_those_of_2003(results):
    found = results.then_and_now
    assert {"then_ratio", "now_ratio", "verdict"} <= {*found.frame}
    assert found.opening is found.opening and isinstance(found.opening, Gallery)
    assert len(found.charts.charts) > len(found.opening.charts) > 0
    for factor in found.frame["factor"].unique():
        assert found.ratios(factor).charts and shown(found.of_factor(factor))
    for name in ("groups", "statement", "summary", "findings"):
        assert shown(getattr(found, name)()), name
    assert shown(found) and repr(found.answer) in repr(found)


def test_results_without_a_published_table_say_so(results):
    found = results.published_beside
    assert found.charts.charts == ()
    for said in (found.answer, found.steps(), found.cells()):
        assert repr(said) == "The study names no published table."
    assert shown(found)


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


def test_a_long_path_has_its_charts_and_tables_by_part(lp):
    found = LongPathResults(lp.measured)
    assert len(found.runs_of("comparison", 9000)) == len(lp.part("comparison", 9000)) > 0
    assert found.opening().charts and "slow start" in repr(found.answer)
    title = "Frames of 9000 B"
    assert found.over_time("comparison", title, mtu_B=9000).charts
    assert len(found.summary("comparison", title, mtu_B=9000).charts) == 2
    assert found.recovery_chart("recovery", "A loss").charts
    assert found.sharing("fairness (scaled down)", "Two flows").charts
    assert found.goodput_by_run("configurations", "Plots").charts
    assert found.over_time("no such part", "Nothing").charts == ()
    assert shown(found.recoveries("recovery")) and shown(found.fairness("fairness"))
    for name in methods(found):
        assert shown(getattr(found, name)()), name
    assert shown(found)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_shows_its_tables_and_writes_them(name, tmp_path):
    found = netlab.document(name)
    assert shown(found) and repr(found.answer) == repr(found)
    for method in methods(found):
        one = getattr(found, method)()
        for each in one if isinstance(one, list) else [one]:
            assert isinstance(each, Table | Tables | Gallery | str) and repr(each), method
    written = found.export(tmp_path / "out")
    assert written == tmp_path / "out"
    assert {path.suffix for path in written.iterdir()} == {".csv", ".tex"}


def test_an_unknown_document_names_those_that_exist():
    with refused(BadInput, "E-FACE-005"):
        netlab.document("openlab")


def test_claims_are_chosen_by_document_and_verdict(tmp_path):
    found = netlab.claims()
    wrong = found.table(verdict="contradicted").frame
    assert len(wrong) == (found.frame["verdict"] == "contradicted").sum() > 0
    assert shown(found) and found.chart.alt and len(found.counts().frame) > 5
    assert {path.name for path in found.export(tmp_path).iterdir()} == {
        *("claims.csv", "claims.tex", "claims-verdicts.csv", "claims-verdicts.tex")
    }
