"""The latest measurement of each part of a calibration is found, whatever came after it."""

from __future__ import annotations

import json

from calibrated_samples import store_calibration

from netlab.analysis import trust
from netlab.analysis.stored_calibrations import stored

RATES = {"cells": [{"rate_Mbps": 100.0, "verdict": "within"}]}
CALIBRATED_EMULATOR = {
    "emulator": {"round_trips": [{"rtt_ms": 1.0, "verdict": ""}], "rates": [{"verdict": "outside"}]}
}


def test_each_part_is_of_the_latest_run_that_has_it(tmp_path):
    first = store_calibration(tmp_path, 1, **RATES, **CALIBRATED_EMULATOR)
    second = store_calibration(tmp_path, 2, {"kernel": "6.2"}, **RATES)
    parts = stored(tmp_path).parts
    assert list(parts) == ["rates", "emulator"]
    assert [part.date for part in parts.values()] == ["2026-01-02", "2026-01-01"]
    assert [part.file for part in parts.values()] == [second, first]
    assert parts["rates"].machine == {"kernel": "6.2"}
    assert parts["emulator"].verdicts == ["outside"]
    assert trust.calibration(tmp_path) == (
        "1 of 1 known rate met on 2026-01-02 (netlab 0.1.0, Linux 6.2); "
        "path emulator: 0 of 1 cell within the bound on 2026-01-01 "
        "(netlab 0.1.0, Linux 6.1.9, Some CPU)"
    )


def test_a_part_of_a_wrong_shape_gives_way_to_the_one_before(tmp_path):
    store_calibration(tmp_path, 1, **RATES, **CALIBRATED_EMULATOR)
    for day, cells in enumerate(([], {}, [3], [{"verdict": None}], None), start=2):
        store_calibration(tmp_path, day, cells=cells, emulator=7)
    parts = stored(tmp_path).parts
    assert {part.date for part in parts.values()} == {"2026-01-01"}
    assert list(parts) == ["rates", "emulator"]


def test_a_damaged_file_does_not_hide_the_good_ones(tmp_path):
    store_calibration(tmp_path, 1, **RATES)
    damaged = store_calibration(tmp_path, 2, **RATES)
    damaged.write_text(damaged.read_text()[:40])
    found = stored(tmp_path)
    assert found.parts["rates"].date == "2026-01-01"
    assert found.damaged == (damaged,)


def test_the_one_file_of_an_older_version_is_read_and_the_absence_of_any_stated(tmp_path):
    assert stored(tmp_path / "none") == stored(tmp_path) and stored(tmp_path).parts == {}
    assert trust.calibration(tmp_path).startswith("not calibrated here")
    cells = [{"verdict": "within"}] * 15 + [{"verdict": "outside"}]
    content = {"started_at": "2026-01-05T10:00:00Z", "netlab": "0.1.0", "cells": cells}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    assert trust.calibration(tmp_path) == "15 of 16 known rates met on 2026-01-05 (netlab 0.1.0)"
    (tmp_path / "calibration.json").write_text("[1]")
    assert trust.calibration(tmp_path).startswith("not calibrated here")
