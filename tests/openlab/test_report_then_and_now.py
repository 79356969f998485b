"""Tables and sentences that compare a measured study with the published one."""

import pytest
import synthetic

from netlab.openlab import tables
from netlab.openlab import then_and_now as tn
from netlab.openlab.report import BESIDE_2003
from netlab.report.publishing import MEASURED_NOTEBOOK, result_notebooks


@pytest.fixture(scope="module")
def measured():
    """One path of the openlab study, at two stream counts."""
    change = synthetic.only(path=("64-64",), streams=(1, 20))
    return synthetic.measured(change=change)


@pytest.fixture(scope="module")
def compared(measured):
    return tn.compare(measured)


@pytest.fixture
def nothing(tmp_path):
    study = synthetic.foreign(tmp_path)
    return synthetic.measured(study)


def test_the_opening_names_both_ceilings(measured):
    table = tables.opening(measured)
    assert table.frame["table"].tolist() == ["Table 2", "Table 3"]
    ceilings = table.frame[["then_ceiling", "now_ceiling"]].to_numpy().tolist()
    assert ceilings == [[1064, 2128], [1064, 4256]]
    assert "28 of the 140 cells" in table.note


def test_the_statement_names_every_finding_once(measured, compared):
    said = [sentence.text for sentence in tables.statement(measured).tables]
    assert [text.split(",")[0] for text in said] == [f.capitalize() for f in tn.STEP_FACTORS]
    whole = tn.summary(compared)
    for text, factor in zip(said, tn.STEP_FACTORS, strict=True):
        assert f"{(whole['factor'] == factor).sum()} finding" in text
    jumbo = whole[(whole["step"] == "1500 B to 9000 B") & (whole["verdict"] == "holds")]
    assert len(jumbo) and f"Hold here: 1500 B to 9000 B ({'; '.join(jumbo['where'])})." in said[0]


def test_the_tables_show_both_sides_and_their_intervals(measured, compared):
    frame = tables.of_factor(measured, "jumbo frames").frame
    row, numbers = frame.iloc[0], compared.iloc[0]
    assert row["2003, %"] == f"{100 * (170 * 398) ** 0.5 / 1064:.1f} → " + (
        f"{100 * (182 * 694) ** 0.5 / 1064:.1f}"
    )
    assert row["2003, ratio"].startswith(f"×{numbers.then_ratio:.2f} ({numbers.then_low:.2f}–")
    assert f"({numbers.now_low:.2f}–{numbers.now_high:.2f})" in row["measured, ratio"]
    assert row["verdict"] == numbers.verdict and row["alike"] == f"{numbers.alike} of 2"
    assert "adjusted for the rounds" in tables.of_factor(measured, "jumbo frames").note
    whole = tables.summary(measured)
    assert len(whole.frame) == len(tn.summary(compared))
    assert "<strong>holds</strong>" in whole._repr_html_()


def test_a_direction_is_compared_by_throughput_where_the_ceiling_doubles(measured, compared):
    row = compared[compared["factor"] == "direction"].iloc[-1]
    assert row.now_ratio == pytest.approx(2.0, rel=0.1) and row.verdict == "holds"
    assert row.now_to_percent / row.now_from_percent == pytest.approx(1.0, rel=0.1)
    note = tables.of_factor(measured, "direction").note
    assert "ratio of goodput" in note and "twice that of one" in note


def test_a_study_without_comparable_cells_has_the_reason_escaped(nothing):
    for said in (
        tables.opening(nothing),
        tables.statement(nothing),
        tables.summary(nothing),
        tables.of_factor(nothing, "tuning"),
    ):
        html = said._repr_html_()
        assert "othing to compare" in html and "<script" not in html


def test_one_level_each_leaves_cells_but_no_step():
    study = synthetic.openlab()
    change = synthetic.only(table=(2,), tuning=("none",), mtu_B=(1500,), streams=(1,))
    m = synthetic.measured(study, change=change)
    assert len(tn.comparable(m)) == 1
    said = repr(tables.statement(m))
    assert "no two comparable cells of this study differ in one factor alone" in said


def test_the_site_has_the_notebook_only_where_there_is_something_to_compare(measured, nothing):
    assert result_notebooks(measured) == (MEASURED_NOTEBOOK, BESIDE_2003)
    assert result_notebooks(nothing) == (MEASURED_NOTEBOOK,)
