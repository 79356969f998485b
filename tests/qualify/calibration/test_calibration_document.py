"""A calibration's document has the measured parts, and its command selects them."""

import json

import pytest
from click.testing import CliRunner
from emulator_samples import filled, pinged

from netlab.analysis.calibrated import stored
from netlab.cli.calibrate import calibrate_command
from netlab.lab import emulator as lab_emulator
from netlab.qualify.calibration import emulator_run, rate_run
from netlab.qualify.calibration.document import CalibrationDocument
from netlab.qualify.calibration.emulator import EmulatorAccuracy
from netlab.qualify.calibration.emulator_cells import EmulatedRate, EmulatorPlan
from netlab.qualify.calibration.rate_cells import RatePlan
from netlab.qualify.calibration.rate_run import Calibration, judge

RATE = EmulatedRate(100.0, 20.0, 1500)
PLAN = EmulatorPlan(rtts_ms=(10.0,), rates=(RATE,))
AT, MACHINE = "2026-01-01T00:00:00Z", {"kernel": "6.1"}


def accuracy(off_us: float = 0.0) -> EmulatorAccuracy:
    samples = [pinged(cell, off_us) for cell in PLAN.round_trips]
    return EmulatorAccuracy.of(PLAN, [*samples, filled(RATE, 0)], MACHINE)


def rates() -> Calibration:
    plan = RatePlan(rates_Mbps=(100.0,), mtus_B=(1500,))
    return Calibration(plan, judge(plan, []), [], MACHINE)


def test_a_part_that_was_not_measured_is_not_in_the_document(tmp_path):
    path = CalibrationDocument(AT, emulator=accuracy()).save(tmp_path)
    written = json.loads(path.read_text())
    assert len(written["emulator"]["round_trips"]) == 3 and "cells" not in written
    assert written["machine"] == MACHINE and written["started_at"] == AT
    assert "emulator" not in CalibrationDocument(AT, rates=rates()).as_json()


def test_every_table_is_saved(tmp_path):
    CalibrationDocument(AT, rates(), accuracy()).save(tmp_path)
    tables = ("calibration", "calibration-round-trips", "calibration-emulated-rates")
    assert {file.name for file in tmp_path.iterdir()} == {
        "calibration.json",
        *(f"{table}.{suffix}" for table in tables for suffix in ("csv", "tex")),
    }


def test_cells_off_their_bound_are_counted_by_verdict():
    assert CalibrationDocument(AT, emulator=accuracy()).complaint is None
    assert CalibrationDocument(AT, rates(), accuracy(900)).complaint == (
        "4 of 5 cells are not within their bound: 1 not measured, 3 outside"
    )


def test_a_later_calibration_of_another_part_leaves_the_rates_as_they_are(tmp_path, monkeypatch):
    cell = {"rate_Mbps": 100.0, "mtu_B": 1500}
    plan = RatePlan(rates_Mbps=(100.0,), mtus_B=(1500,))
    sample = {**cell, "goodput_MBps": plan.cells[0].expected_MBps, "flags": ""}
    done = Calibration(plan, judge(plan, [sample]), [sample], MACHINE)
    monkeypatch.setattr(rate_run, "calibrate", lambda plan, progress: done)
    monkeypatch.setattr(emulator_run, "calibrate_emulator", lambda plan, progress: accuracy(900))
    monkeypatch.setattr(lab_emulator, "check", lambda: None)
    out = ("--out", str(tmp_path))
    first = CliRunner().invoke(calibrate_command, ["--only", "rates", *out])
    assert first.exit_code == 0, first.output
    (file,) = tmp_path.glob("*/calibration.json")
    assert str(file) in first.stdout
    before = file.read_bytes()
    second = CliRunner().invoke(calibrate_command, ["--only", "emulator", *out])
    assert second.exit_code == 1, second.output
    assert file.read_bytes() == before
    parts = stored(tmp_path).parts
    assert list(parts) == ["rates", "emulator"]
    assert parts["rates"].file == file != parts["emulator"].file


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("--only", "emulator", "--rate", "100"), "--only emulator does not use --rate"),
        (("--only", "rates", "--rtt", "10"), "--only rates does not use --rtt"),
    ],
)
def test_an_option_of_a_part_left_out_is_refused(argv, says):
    done = CliRunner().invoke(calibrate_command, argv)
    assert done.exit_code == 2 and says in done.output
