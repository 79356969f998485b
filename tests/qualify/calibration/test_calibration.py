"""Known rates, their expected goodput, and the verdict of a figure."""

import json

import pytest
from click.testing import CliRunner
from qualify.calibration.emulator_samples import filled, pinged

from netlab.analysis.stored_calibrations import stored
from netlab.errors import BadInput
from netlab.lab import emulator as lab_emulator
from netlab.lab.topology import topology
from netlab.qualify.calibrated import emulator
from netlab.qualify.calibrated import rates as rates_calibration
from netlab.qualify.calibrated.document import CalibrationDocument
from netlab.qualify.calibrated.emulator import EmulatorAccuracy
from netlab.qualify.calibrated.emulator_cells import (
    IDLE,
    LOADED,
    LOADED_LINK,
    QUICK_EMULATOR,
    EmulatedRate,
    EmulatorPlan,
    RoundTrip,
)
from netlab.qualify.calibrated.path import tries_of
from netlab.qualify.calibrated.rate_cells import QUICK, RateCell, RatePlan
from netlab.qualify.calibrated.rates import Calibration
from netlab.qualify.calibrated.verdicts import judge
from netlab.qualify.commands import calibrate_command

ONE = RatePlan(rates_Mbps=(100.0,), mtus_B=(1500,))


def run(percent_off: float, flags: str = "") -> dict:
    (cell,) = ONE.cells
    goodput = None if "failed" in flags else cell.expected_MBps * (1 + percent_off / 100)
    return {**cell.key, "goodput_MBps": goodput, "flags": flags}


def cell_of(*runs: dict) -> dict:
    (row,) = Calibration(ONE, list(runs), {}).frames["cells"].to_dict("records")
    return row


@pytest.mark.parametrize(
    ("rate_Mbps", "mtu_B", "within_percent", "offloads", "window_s"),
    [
        (100.0, 576, 0.5, False, 2.0),
        (1000.0, 9000, 0.5, False, 2.0),
        (10_000.0, 9000, 1.0, False, 2.0),
        (10_000.0, 1500, 1.0, True, 2.0),
        # a thousand frames, however long they are
        (10.0, 16114, 0.5, False, 16128 * 8 / 10e6 * 1000),
    ],
)
def test_bound_offloads_and_window_follow_from_rate_and_mtu(
    rate_Mbps, mtu_B, within_percent, offloads, window_s
):
    cell = RateCell(rate_Mbps, mtu_B)
    assert (cell.within_percent, cell.offloads) == (within_percent, offloads)
    assert cell.stream(RatePlan(seconds=2.0)).window_s == pytest.approx(window_s)
    # the MSS of every frame
    share = (mtu_B - 52) / (mtu_B + 14)
    assert cell.expected_MBps == pytest.approx(rate_Mbps / 8 * share)


def test_the_plan_covers_the_rates_and_mtus_asked_for():
    cells = RatePlan().cells
    assert {cell.rate_Mbps for cell in cells} >= {10.0, 10_000.0}
    assert {cell.mtu_B for cell in cells} >= {576, 16114}
    assert len(QUICK.cells) < len(cells)


def test_the_lab_has_one_path_a_rate_shaped_to_it():
    plan = RatePlan(rates_Mbps=(1, 1.0001, 10.0, 1e4, 1e6))
    rates = {path.name: path.settings.rate_bps for path in topology(plan.study).paths}
    for cell in plan.cells:
        assert rates[cell.path] == round(cell.rate_Mbps * 1e6)


def test_a_row_has_the_error_of_its_cell_and_the_columns_of_the_table():
    row = cell_of(run(0.4))
    assert row["error_percent"] == pytest.approx(0.4)
    assert list(row) == [
        *("rate_Mbps", "mtu_B", "offloads", "expected_MBps", "goodput_MBps", "error_percent"),
        *("least_percent", "greatest_percent", "within_percent"),
        *("verdict", "runs", "failed", "flags"),
    ]


def test_every_run_counts_flagged_or_not_and_the_figure_is_the_median():
    row = cell_of(run(0.1, "failed"), run(0.2))
    assert (row["runs"], row["failed"], row["flags"]) == (2, 1, "failed")
    row = cell_of(run(0.1), run(-9.0, "interference"), run(0.3))
    assert (row["verdict"], row["runs"], row["failed"]) == ("within", 3, 0)
    assert row["error_percent"] == pytest.approx(0.1) and row["flags"] == "interference"
    assert row["least_percent"] == pytest.approx(-9.0)
    assert row["greatest_percent"] == pytest.approx(0.3)


def test_the_calibration_has_text_table_and_json():
    runs = [run(0.1), run(0.7)]
    done = Calibration(ONE, runs, {"kernel": "6.1"})
    text = done.to_text()
    for part in ("+0.40", "least, %", "+0.10", "greatest, %", "+0.70", "Every try counts"):
        assert part in text
    assert "TCP can carry" in done.tables()["calibration"]._repr_html_()
    assert done.as_json()["samples"] == runs
    assert done.as_json()["settings"]["congestion"] == "cubic"
    assert done.verdicts == ["within"]


WRONG = [
    *[(RatePlan, {"rates_Mbps": (0.0,)}, "rate"), (RatePlan, {"mtus_B": (100,)}, "mtu")],
    *[(RatePlan, {"repeats": 0}, "repeats"), (RatePlan, {"seconds": 0.0}, "seconds")],
    *[(EmulatorPlan, {"rtts_ms": levels}, "rtt") for levels in ((), (-1.0,))],
    (EmulatorPlan, {"pings": 1}, "pings"),
]


@pytest.mark.parametrize(("plan", "wrong", "key"), WRONG)
def test_a_level_that_cannot_be_is_refused_by_name(plan, wrong, key):
    with pytest.raises(BadInput, match=key):
        plan(**wrong)


RATE = EmulatedRate(100.0, 20.0, 1500)
PLAN = EmulatorPlan(rtts_ms=(10.0,), rates=(RATE,))
AT, MACHINE = "2026-01-01T00:00:00Z", {"kernel": "6.1"}


def accuracy(off_us: float = 0.0) -> EmulatorAccuracy:
    samples = [pinged(cell, off_us) for cell in PLAN.round_trips]
    return EmulatorAccuracy(PLAN, [*samples, filled(RATE, 0)], MACHINE)


def rates(*samples: dict) -> Calibration:
    return Calibration(ONE, list(samples), MACHINE)


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
    done = rates(run(0))
    monkeypatch.setattr(rates_calibration, "calibrate", lambda plan, progress: done)
    monkeypatch.setattr(emulator, "calibrate_emulator", lambda plan, progress: accuracy(900))
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


QUIET, BUSY = RoundTrip(10.0, IDLE), RoundTrip(10.0, LOADED)
LINK = RoundTrip(10.0, LOADED_LINK)


def test_a_mean_may_be_off_by_the_larger_of_200_us_and_half_a_per_cent():
    assert RoundTrip(0.5, IDLE).bound_us == RoundTrip(40.0, LOADED).bound_us == 200.0
    assert RoundTrip(183.2, IDLE).bound_us == pytest.approx(916.0)


def test_each_round_trip_is_measured_idle_and_loaded_and_then_the_rates():
    assert PLAN.cells == (QUIET, BUSY, LINK, RATE)
    assert EmulatorPlan(rtts_ms=(2, 0.5, 2.0)).round_trips[::3] == (
        RoundTrip(0.5, IDLE),
        RoundTrip(2.0, IDLE),
    )
    assert len(QUICK_EMULATOR.cells) < len(EmulatorPlan().cells)
    assert QUICK_EMULATOR.pings >= 40


def test_the_paths_are_emulated_by_netlab_as_long_as_asked_and_only_rates_have_a_queue():
    paths = {path.name: path for path in topology(EmulatorPlan().study).paths}
    for cell in EmulatorPlan().cells:
        path = paths[cell.path]
        assert path.emulated_with == "netlab"
        assert sum(way.delay_us for way in path.emulator.ways) == pytest.approx(1e3 * cell.rtt_ms)
        rate_Mbps = getattr(cell, "rate_Mbps", 0) or getattr(cell, "load", IDLE).rate_Mbps or 0
        for way in path.emulator.ways:
            assert way.rate_bps == 1e6 * rate_Mbps
            assert (way.queue_B > 0) == (rate_Mbps > 0)


def test_the_load_lasts_longer_than_the_pings_and_fills_no_more_than_its_pace():
    stream = RoundTrip(183.2, LOADED).stream(2.0)
    assert stream.window_s > 2.3
    assert stream.pacing_MBps == 62.5
    assert stream.buffer_B >= 62.5e6 * 0.1832
    link = RoundTrip(183.2, LOADED_LINK)
    assert link.stream(2.0).pacing_MBps == 125.0 < link.load.rate_Mbps / 8
    assert link.link["emulator"]["queue_B"] >= 2 * link.stream(2.0).buffer_B


def test_a_rate_is_compared_with_tcps_maximum_and_the_buffers_fit_the_window():
    assert RATE.expected_MBps == pytest.approx(12.5 * 1448 / 1514)
    assert RATE.stream(1.0).buffer_B >= 12.5e6 * 0.02
    assert RATE.link["emulator"]["queue_B"] >= 2 * RATE.buffer_B - 12.5e6 * 0.02


INTERFERED, LATE = "interference", "interference,emulator_late"
BEYOND = pinged(QUIET, 900, INTERFERED), pinged(QUIET, 400, LATE)
LOST, EMPTY = pinged(QUIET, 0, "failed", mean_ms=None), filled(RATE, 0, "failed", goodput_MBps=None)
VERDICTS = [
    *[(ONE.cells[0], [run(off)], "within") for off in (0.4, -0.4)],
    *[(ONE.cells[0], [run(off)], "outside") for off in (0.6, -3)],
    *[(QUIET, [pinged(QUIET, off, INTERFERED)], "within") for off in (150, -150)],
    # every try counts, and the median decides
    (RATE, [filled(RATE, off) for off in (0, -2, -3)], "outside"),
    (RATE, [filled(RATE, off) for off in (0, 0.1, -30)], "within"),
    (QUIET, [pinged(QUIET, off) for off in (900, 300, 20)], "outside"),
    (QUIET, [pinged(QUIET, off) for off in (900, 100, 20)], "within"),
    (BUSY, [pinged(BUSY, 0, "load_short"), pinged(BUSY, 900)], "outside"),
    # off under foreign load alone
    (RATE, [filled(RATE, -9, INTERFERED)], "disturbed"),
    (RATE, [filled(RATE, -9, INTERFERED), filled(RATE, -9)], "outside"),
    (RATE, [filled(RATE, -9, "ledger_mismatch")], "outside"),
    (QUIET, [*BEYOND], "disturbed"),
    (QUIET, [*BEYOND, pinged(QUIET, 500)], "outside"),
    # no load makes a round trip short, or a rate high
    (QUIET, [pinged(QUIET, -250, INTERFERED)], "outside"),
    (RATE, [filled(RATE, 1.5, INTERFERED)], "outside"),
    # the successful half of the tries does not save a cell
    *[(cell, [], "not measured") for cell in (QUIET, RATE)],
    (QUIET, [LOST], "not measured"),
    (RATE, [EMPTY], "not measured"),
    (RATE, [filled(RATE, 0.1), EMPTY], "not measured"),
    (RATE, [filled(RATE, 0.1), filled(RATE, 0.1), EMPTY], "within"),
    (QUIET, [pinged(QUIET, 50), LOST], "not measured"),
    (QUIET, [pinged(QUIET, 50), pinged(QUIET, 60), LOST], "within"),
]


@pytest.mark.parametrize(("cell", "tries", "verdict"), VERDICTS)
def test_the_verdict_of_a_cell_is_on_the_median_of_all_its_tries(cell, tries, verdict):
    assert judge(cell, tries) == verdict


def test_every_cell_has_a_row_with_its_measurements():
    samples = [
        pinged(QUIET, 900, "interference"),
        pinged(QUIET, 50),
        pinged(QUIET, 60),
        pinged(BUSY, 80, "load_short"),
        pinged(LINK, 250),
    ]
    done = EmulatorAccuracy(PLAN, [*samples, filled(RATE, -0.5)], {})
    idle, loaded, link = done.frames["round_trips"].to_dict("records")
    assert {"bound_us", "late_us", "tries"} <= idle.keys() and "runs" not in idle
    assert (idle["load"], idle["tries"], idle["verdict"]) == ("idle", 3, "within")
    assert idle["flags"] == "interference"
    assert idle["deviation_us"] == pytest.approx(60)
    assert (idle["least_us"], idle["greatest_us"]) == pytest.approx((50, 900))
    assert idle["pings"] == 3 * 41
    assert (loaded["goodput_Mbps"], loaded["flags"]) == (500.0, "load_short")
    assert (link["load"], link["verdict"]) == ("loaded link", "outside")
    (rate,) = done.frames["rates"].to_dict("records")
    assert {"rtt_ms", "late_us", "tries"} <= rate.keys() and "offloads" not in rate
    assert rate["error_percent"] == pytest.approx(-0.5)
    assert done.verdicts == ["within", "within", "outside", "within"]


def test_the_accuracy_has_text_tables_and_json_with_any_part_missing():
    samples = [pinged(QUIET, 50), filled(RATE, 0, "failed", goodput_MBps=None)]
    done = EmulatorAccuracy(PLAN, samples, {})
    text = done.to_text()
    assert "Loaded link: beside one stream paced at 1000 Mb/s, on a path of 2500 Mb/s." in text
    assert "Every try counts" in text and "least, µs" in text
    assert "+50" in text and "10.050" in text and "not measured" in text and "nan" not in text
    trips, rates = done.tables().values()
    assert "least, µs" in trips._repr_html_() and "TCP can carry" in rates._repr_html_()
    assert done.as_json()["samples"] == samples
    assert done.verdicts == ["within", *["not measured"] * 3]


@pytest.mark.parametrize(
    ("cell", "samples"),
    [
        (QUIET, [pinged(QUIET, 0)] * 3),
        (QUIET, [pinged(QUIET, 900), pinged(QUIET, 0), LOST]),
        (RATE, [filled(RATE, -9, INTERFERED), filled(RATE, 0), filled(RATE, 0)]),
    ],
)
def test_no_figure_ends_the_tries_early_or_adds_one(cell, samples):
    left = iter(samples)
    made = tries_of(cell, lambda: next(left), "try", 3)
    assert [one["try"] for one in made] == [1, 2, 3]
    assert all(cell.key.items() <= one.items() for one in made)
    assert next(left, None) is None
