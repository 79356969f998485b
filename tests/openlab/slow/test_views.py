"""What a notebook shows of the documents, and of results beside them."""

from __future__ import annotations

import pytest
from face.views import methods, shown
from refusals import refused

import netlab
from netlab.charts.chart import Gallery
from netlab.errors import BadInput
from netlab.files.tables import Table
from netlab.openlab.documents import DOCUMENTS
from netlab.report.tables import Tables


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
