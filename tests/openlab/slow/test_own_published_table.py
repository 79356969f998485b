"""A published table of the user's own beside measured cells: pairs, steps and verdicts."""

from dataclasses import replace

import pytest
from lab_study import lab_study
from synthetic import measured

from netlab.openlab import own_table, published_beside, sentences
from netlab.openlab import then_and_now as tn
from netlab.openlab.report import BESIDE_A_TABLE
from netlab.report.publishing import result_notebooks
from netlab.study import Study

THEN_MBPS = {(1500, 1024): 200.0, (1500, 65536): 300.0, (9000, 1024): 240.0, (9000, 65536): 360.0}


def measured_beside(cells: list[dict], tmp_path):
    """Twice the published rates at MTU 1500; at MTU 9000 the record length does nothing."""

    def value(_study, group, _tuning, mtu_B, _streams):
        twice = 2 * THEN_MBPS[1500, group.record_length_B]
        return (twice if mtu_B == 1500 else 480.0), "CPU"

    content = lab_study().model_dump(mode="json") | {
        "tunings": [{"name": "plain", "mtus_B": [1500, 9000], "knobs": []}],
        "factors": {"record_length_B": [1024, 65536], "send": ["copy"]},
        "timing": {"rounds": 4},
        "published": {"title": "Theirs", "source": "A paper", "cells": cells},
    }
    return measured(Study.model_validate(content), tmp_path, value=value, noise=0.001)


@pytest.fixture
def both(tmp_path):
    cells = [
        {"mtu_B": mtu_B, "record_length_B": size, "goodput_MBps": value}
        for (mtu_B, size), value in THEN_MBPS.items()
    ]
    cells.append({"mtu_B": 1500, "record_length_B": 9, "goodput_MBps": 1.0})
    return measured_beside(cells, tmp_path)


def test_cells_pair_by_the_columns_of_the_table(both):
    pairs = published_beside.paired(both)
    assert len(pairs) == 4
    first = pairs[(pairs["mtu_B"] == 1500) & (pairs["record_length_B"] == 1024)].iloc[0]
    assert first["then"] == 200 and first["now"] == pytest.approx(400, rel=0.01)
    assert "1 published cells fit no single" in own_table.cells(both).note


def test_each_step_has_a_verdict_by_the_measured_interval(both):
    found = published_beside.steps_beside(both).set_index("factor")
    assert found.loc["mtu_B", "then_ratio"] == pytest.approx(1.2)
    assert found.loc["record_length_B", "then_ratio"] == pytest.approx(1.5)
    assert found.loc["record_length_B", "cases"] == 2
    # measured are 1.5 and 1: the direction is the same, the size is not reached
    assert found.loc["record_length_B", "verdict"] == tn.SMALLER
    assert found.loc["mtu_B", "verdict"] == tn.DOES_NOT_HOLD  # 1.2 and 0.8
    assert "Steps of each factor" in repr(own_table.steps(both))
    assert BESIDE_A_TABLE in result_notebooks(both), "the report has its page"


def test_a_table_that_fits_several_cells_says_so(tmp_path):
    found = measured_beside([{"streams": 1, "goodput_MBps": 100.0}], tmp_path)
    assert published_beside.paired(found).empty and published_beside.steps_beside(found).empty
    assert "no published cell fits" in repr(own_table.cells(found))


@pytest.mark.parametrize(
    ("then", "low", "high", "verdict"),
    [
        (1.35, 1.30, 1.40, tn.HOLDS),
        (1.35, 2.96, 3.03, tn.LARGER),
        (1.35, 1.08, 1.20, tn.SMALLER),
        (1.35, 0.90, 1.60, "cannot tell"),
        (1.35, 0.60, 0.80, tn.DOES_NOT_HOLD),
        (0.50, 0.20, 0.25, tn.LARGER),
        (0.50, 0.70, 0.80, tn.SMALLER),
        (1.00, 0.99, 1.01, tn.HOLDS),
        (1.00, 1.20, 1.30, tn.DOES_NOT_HOLD),
        (1.35, float("nan"), float("nan"), "cannot tell"),
    ],
)
def test_a_published_step_is_judged_by_its_size(then, low, high, verdict):
    """A published ratio of 1.35, measured at 3.0, held by its direction."""
    assert tn.size_verdict(then, low, high, band=1.062) == verdict


def test_another_level_of_goodput_is_said_before_the_steps_and_two_rounds_judge_none(both):
    said = repr(sentences.published_beside(both))
    assert said.startswith("Goodput is at another level than published in ")
    assert "published steps" in said
    two = replace(both, runs=both.runs[both.runs["round"] <= 2])
    assert set(published_beside.steps_beside(two)["verdict"]) == {"cannot tell"}
