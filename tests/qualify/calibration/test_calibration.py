"""Known rates, their expected goodput, and the verdict of a figure."""

import pytest

from netlab.errors import BadInput
from netlab.lab.topology import topology
from netlab.qualify.calibration.rate_cells import QUICK, RateCell, RatePlan, calibration_study
from netlab.qualify.calibration.rate_run import CELL_COLUMNS, Calibration, judge, repeated

ONE = RatePlan(rates_Mbps=(100.0,), mtus_B=(1500,))


def run(percent_off: float, flags: str = "", plan: RatePlan = ONE) -> dict:
    (cell,) = plan.cells
    goodput = cell.expected_MBps * (1 + percent_off / 100)
    return {
        "rate_Mbps": cell.rate_Mbps,
        "mtu_B": cell.mtu_B,
        "goodput_MBps": None if "failed" in flags else goodput,
        "flags": flags,
    }


def outcome(percent_off: float, flags: str = "") -> dict:
    """The figures of a run, without the columns of its name."""
    return {name: run(percent_off, flags)[name] for name in ("goodput_MBps", "flags")}


def cell_of(*runs: dict, plan: RatePlan = ONE) -> dict:
    (row,) = judge(plan, list(runs)).to_dict("records")
    return row


def test_tcp_can_carry_the_mss_of_every_frame():
    # 1448 of 1514 bytes of 12.5 MB/s
    assert RateCell(100.0, 1500).expected_MBps == pytest.approx(12.5 * 1448 / 1514)


def test_the_bound_is_half_a_per_cent_and_one_from_ten_gigabit():
    assert RateCell(1000.0, 9000).within_percent == 0.5
    assert RateCell(10_000.0, 9000).within_percent == 1.0


def test_the_plan_covers_the_rates_and_mtus_asked_for():
    cells = RatePlan().cells
    assert {cell.rate_Mbps for cell in cells} >= {10.0, 10_000.0}
    assert {cell.mtu_B for cell in cells} >= {576, 16114}
    assert len(QUICK.cells) < len(cells)


def test_a_window_holds_a_thousand_frames_however_long_they_are():
    assert RateCell(10.0, 16114).window_s(2.0) == pytest.approx(16128 * 8 / 10e6 * 1000)
    assert RateCell(1000.0, 1500).window_s(2.0) == 2.0


def test_offloads_are_on_only_at_high_frame_rates():
    assert RateCell(10_000.0, 1500).offloads
    assert not RateCell(10_000.0, 9000).offloads
    assert not RateCell(100.0, 576).offloads


def test_the_lab_has_one_path_a_rate_shaped_to_it():
    plan = RatePlan(rates_Mbps=(1, 1.0001, 10.0, 1e4, 1e6))
    rates = {path.name: path.settings.rate_bps for path in topology(calibration_study(plan)).paths}
    for cell in plan.cells:
        assert rates[cell.path] == round(cell.rate_Mbps * 1e6)


@pytest.mark.parametrize(
    ("percent", "verdict"), [(0.4, "within"), (-0.4, "within"), (0.6, "outside"), (-3, "outside")]
)
def test_the_verdict_of_a_cell_follows_its_error(percent, verdict):
    row = cell_of(run(percent))
    assert row["verdict"] == verdict
    assert row["error_percent"] == pytest.approx(percent)
    assert list(row) == list(CELL_COLUMNS)


def test_every_run_counts_flagged_or_not_and_the_figure_is_the_median():
    row = cell_of(run(0.1), run(-9.0, "interference"), run(0.3))
    assert (row["verdict"], row["runs"], row["failed"]) == ("within", 3, 0)
    assert row["error_percent"] == pytest.approx(0.1) and row["flags"] == "interference"
    assert row["least_percent"] == pytest.approx(-9.0)
    assert row["greatest_percent"] == pytest.approx(0.3)


def test_one_run_near_enough_does_not_save_a_cell():
    assert cell_of(run(0.0), run(-2.0), run(-3.0))["verdict"] == "outside"
    assert cell_of(run(0.0), run(0.1), run(-30.0))["verdict"] == "within"


def test_a_cell_off_its_bound_under_foreign_load_alone_is_disturbed():
    assert cell_of(run(-9.0, "interference"))["verdict"] == "disturbed"
    assert cell_of(run(-9.0, "interference"), run(-9.0))["verdict"] == "outside"
    assert cell_of(run(-9.0, "ledger_mismatch"))["verdict"] == "outside"
    assert cell_of(run(+9.0, "interference"))["verdict"] == "outside"


@pytest.mark.parametrize("percent", [0.0, -3.0, 2.0])
def test_every_cell_is_measured_as_often_whatever_its_figure(percent):
    samples = repeated(ONE, ONE.cells[0], lambda: outcome(percent))
    assert [sample["repeat"] for sample in samples] == list(range(1, ONE.repeats + 1))
    assert cell_of(*samples)["error_percent"] == pytest.approx(percent)


def test_failed_runs_are_counted():
    row = cell_of(run(0.1, "failed"), run(0.2))
    assert (row["runs"], row["failed"], row["flags"]) == (2, 1, "failed")


def test_the_successful_half_of_the_tries_does_not_save_a_cell():
    assert cell_of(run(0.1), run(0.2, "failed"))["verdict"] == "not measured"
    assert cell_of(run(0.1), run(0.1), run(0.2, "failed"))["verdict"] == "within"


def test_a_cell_without_a_figure_is_not_measured_and_not_passed():
    assert cell_of(run(0.0, "failed"))["verdict"] == "not measured"
    assert cell_of()["verdict"] == "not measured"


def test_the_calibration_has_text_table_and_json():
    runs = [run(0.1), run(0.7)]
    done = Calibration(ONE, judge(ONE, runs), runs, {"kernel": "6.1"})
    text = done.to_text()
    for part in ("+0.40", "least %", "+0.10", "greatest %", "+0.70", "Every try counts"):
        assert part in text
    assert "TCP can carry" in done.table()._repr_html_()
    assert done.as_json()["samples"] == runs
    assert done.as_json()["settings"]["congestion"] == "cubic"
    assert done.verdicts == ["within"]


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"rates_Mbps": (0.0,)}, "rate"),
        ({"mtus_B": (100,)}, "mtu"),
        ({"repeats": 0}, "repeats"),
        ({"seconds": 0.0}, "seconds"),
    ],
)
def test_a_level_that_cannot_be_is_refused_by_name(wrong, key):
    with pytest.raises(BadInput, match=key):
        RatePlan(**wrong)
