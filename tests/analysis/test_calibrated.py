"""The latest measurement of each part of a calibration is found, whatever came after it."""

from __future__ import annotations

import json
from pathlib import Path

from netlab.analysis.calibrated import stored
from netlab.files.dated import new_directory

RATES = {"cells": [{"rate_Mbps": 100.0, "verdict": "within"}]}
EMULATOR = {
    "emulator": {"round_trips": [{"rtt_ms": 1.0, "verdict": ""}], "rates": [{"verdict": "outside"}]}
}


def save(directory: Path, day: int, *parts: dict, **more: object) -> Path:
    started_at = f"2026-01-{day:02}T10:00:00Z"
    content = {"netlab_calibration": 3, "started_at": started_at, "netlab": "0.1.0"}
    content["machine"] = {"kernel": f"6.{day}"}
    for part in parts:
        content |= part
    file = new_directory(directory, started_at) / "calibration.json"
    file.write_text(json.dumps(content | more))
    return file


def test_each_part_is_of_the_latest_run_that_has_it(tmp_path):
    first = save(tmp_path, 1, RATES, EMULATOR)
    second = save(tmp_path, 2, RATES)
    parts = stored(tmp_path).parts
    assert list(parts) == ["rates", "emulator"]
    assert [part.date for part in parts.values()] == ["2026-01-02", "2026-01-01"]
    assert [part.file for part in parts.values()] == [second, first]
    assert parts["rates"].machine == {"kernel": "6.2"}
    assert parts["emulator"].verdicts == ["outside"]


def test_a_part_of_a_wrong_shape_gives_way_to_the_one_before(tmp_path):
    save(tmp_path, 1, RATES, EMULATOR)
    for day, cells in enumerate(([], {}, [3], [{"verdict": None}], None), start=2):
        save(tmp_path, day, {"cells": cells, "emulator": 7})
    parts = stored(tmp_path).parts
    assert {part.date for part in parts.values()} == {"2026-01-01"}
    assert list(parts) == ["rates", "emulator"]


def test_a_damaged_file_does_not_hide_the_good_ones(tmp_path):
    save(tmp_path, 1, RATES)
    damaged = save(tmp_path, 2, RATES)
    damaged.write_text(damaged.read_text()[:40])
    found = stored(tmp_path)
    assert found.parts["rates"].date == "2026-01-01"
    assert found.damaged == (damaged,)


def test_a_calibration_of_an_older_version_is_read(tmp_path):
    content = {"started_at": "2026-01-05T10:00:00Z", "netlab": "0.1.0", **RATES}
    (tmp_path / "calibration.json").write_text(json.dumps(content))
    (part,) = stored(tmp_path).parts.values()
    assert (part.name, part.date, part.verdicts) == ("rates", "2026-01-05", ["within"])


def test_nothing_is_stored_before_the_first_calibration(tmp_path):
    assert stored(tmp_path / "none") == stored(tmp_path)
    assert stored(tmp_path).parts == {}
