"""A published table of the user's own beside measured cells: pairs, steps and verdicts."""

from __future__ import annotations

import numpy as np
import pytest
from synthetic import record

from netlab.analysis import then_and_now
from netlab.analysis.measured import from_frames
from netlab.analysis.then_and_now import DOES_NOT_HOLD, HOLDS
from netlab.report import then_and_now as shown
from netlab.report.publish import BESIDE_A_TABLE, measured_notebooks
from netlab.results.frames import frame_of
from netlab.study import Study
from netlab.study.schedule import visits

THEN_MBPS = {(1500, 1024): 200.0, (1500, 65536): 300.0, (9000, 1024): 240.0, (9000, 65536): 360.0}


def study(cells: list[dict]) -> Study:
    host = {"kind": "lab"}
    return Study.model_validate(
        {
            "netlab": 1,
            "name": "mine",
            "title": "Mine",
            "hosts": {"left": host, "right": host},
            "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}},
            "groups": [{"name": "one", "path": "cable", "sender": "left"}],
            "tunings": [{"name": "plain", "mtus_B": [1500, 9000], "knobs": []}],
            "streams": [1],
            "factors": {"record_length_B": [1024, 65536], "send": ["copy"]},
            "timing": {"rounds": 4},
            "published": {"title": "Theirs", "source": "A paper", "cells": cells},
        }
    )


def measured(made: Study, tmp_path):
    """Twice the published rates at MTU 1500; at MTU 9000 the record length does nothing."""
    rng, digest, rows = np.random.default_rng(5), made.digest(), []
    for block in visits(made):
        for run in block.runs:
            value = 2 * THEN_MBPS[block.mtu_B, run.group.record_length_B]
            value = value if block.mtu_B == 1500 else 480.0
            row = record(made, digest, block, run, rng, (value * rng.normal(1, 0.001), "CPU"))
            rows.append(row | {"factors": run.factors})
    return from_frames(made, frame_of(rows), None, tmp_path)


@pytest.fixture
def both(tmp_path):
    cells = [
        {"mtu_B": mtu_B, "record_length_B": size, "goodput_MBps": value}
        for (mtu_B, size), value in THEN_MBPS.items()
    ]
    cells.append({"mtu_B": 1500, "record_length_B": 9, "goodput_MBps": 1.0})
    return measured(study(cells), tmp_path)


def test_cells_pair_by_the_columns_of_the_table(both):
    pairs = then_and_now.paired(both)
    assert len(pairs) == 4
    first = pairs[(pairs["mtu_B"] == 1500) & (pairs["record_length_B"] == 1024)].iloc[0]
    assert first["then_MBps"] == 200 and first["now_MBps"] == pytest.approx(400, rel=0.01)
    assert "1 published cells fit no single" in shown.cells(both).note


def test_each_step_has_a_verdict_by_the_measured_interval(both):
    found = then_and_now.steps_beside(both).set_index("factor")
    assert found.loc["mtu_B", "then_ratio"] == pytest.approx(1.2)
    assert found.loc["record_length_B", "then_ratio"] == pytest.approx(1.5)
    assert found.loc["record_length_B", "cases"] == 2
    assert found.loc["record_length_B", "verdict"] == HOLDS  # 1.5 and 1
    assert found.loc["mtu_B", "verdict"] == DOES_NOT_HOLD  # 1.2 and 0.8
    assert "Steps of each factor" in repr(shown.steps(both))


def test_a_report_of_such_a_study_has_its_page(both):
    assert BESIDE_A_TABLE in measured_notebooks(both)


def test_a_table_that_fits_several_cells_says_so(tmp_path):
    cells = [{"streams": 1, "goodput_MBps": 100.0}]
    found = measured(study(cells), tmp_path)
    assert then_and_now.paired(found).empty and then_and_now.steps_beside(found).empty
    assert "no published cell fits" in repr(shown.cells(found))
