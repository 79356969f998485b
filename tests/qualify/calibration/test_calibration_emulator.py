"""The cells of the emulator's calibration, and their verdicts."""

import pytest
from emulator_samples import filled, pinged

from netlab.errors import BadInput
from netlab.lab.topology import topology
from netlab.qualify.calibration.emulator import (
    RATE_COLUMNS,
    ROUND_TRIP_COLUMNS,
    EmulatorAccuracy,
    judge,
)
from netlab.qualify.calibration.emulator_cells import (
    IDLE,
    LOADED,
    LOADED_LINK,
    QUICK_EMULATOR,
    EmulatedRate,
    EmulatorPlan,
    RoundTrip,
    emulator_study,
)

QUIET, BUSY = RoundTrip(10.0, IDLE), RoundTrip(10.0, LOADED)
LINK = RoundTrip(10.0, LOADED_LINK)
RATE = EmulatedRate(100.0, 20.0, 1500)
PLAN = EmulatorPlan(rtts_ms=(10.0,), rates=(RATE,))


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
    paths = {path.name: path for path in topology(emulator_study(EmulatorPlan())).paths}
    for cell in EmulatorPlan().cells:
        path = paths[cell.path]
        assert path.emulated_with == "netlab"
        assert sum(path.emulator.delay_us) == pytest.approx(1e3 * cell.rtt_ms)
        rate_Mbps = getattr(cell, "rate_Mbps", 0) or getattr(cell, "load", IDLE).rate_Mbps or 0
        assert path.emulator.rate_bps == 1e6 * rate_Mbps
        assert (path.emulator.queue_B > 0) == (rate_Mbps > 0)


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


@pytest.mark.parametrize("off_us", [150.0, -150.0])
def test_a_mean_near_enough_is_within(off_us):
    assert judge(QUIET, [pinged(QUIET, off_us, "interference")]) == "within"


def test_every_try_counts_and_the_median_decides():
    assert judge(QUIET, [pinged(QUIET, off) for off in (900, 300, 20)]) == "outside"
    assert judge(QUIET, [pinged(QUIET, off) for off in (900, 100, 20)]) == "within"
    assert judge(BUSY, [pinged(BUSY, 0, "load_short"), pinged(BUSY, 900)]) == "outside"


def test_an_error_under_foreign_load_alone_is_disturbed():
    disturbed = [
        pinged(QUIET, 900, "interference"),
        pinged(QUIET, 400, "interference,emulator_late"),
    ]
    assert judge(QUIET, disturbed) == "disturbed"
    assert judge(QUIET, [*disturbed, pinged(QUIET, 500)]) == "outside"
    assert judge(RATE, [filled(RATE, -5, "interference")]) == "disturbed"
    assert judge(RATE, [filled(RATE, -5)]) == "outside"


def test_no_load_makes_a_round_trip_short_or_a_rate_high():
    assert judge(QUIET, [pinged(QUIET, -250, "interference")]) == "outside"
    assert judge(RATE, [filled(RATE, 1.5, "interference")]) == "outside"


def test_a_cell_without_a_figure_is_not_measured():
    assert judge(QUIET, []) == "not measured"
    assert judge(QUIET, [pinged(QUIET, 0, "failed", mean_ms=None)]) == "not measured"
    assert judge(RATE, [filled(RATE, 0, "failed", goodput_MBps=None)]) == "not measured"


def test_the_successful_half_of_the_tries_does_not_save_a_cell():
    failed = pinged(QUIET, 0, "failed", mean_ms=None)
    assert judge(QUIET, [pinged(QUIET, 50), failed]) == "not measured"
    assert judge(QUIET, [pinged(QUIET, 50), pinged(QUIET, 60), failed]) == "within"


def test_every_cell_has_a_row_with_its_measurements():
    samples = [
        pinged(QUIET, 900, "interference"),
        pinged(QUIET, 50),
        pinged(QUIET, 60),
        pinged(BUSY, 80, "load_short"),
        pinged(LINK, 250),
    ]
    done = EmulatorAccuracy.of(PLAN, [*samples, filled(RATE, -0.5)], {})
    idle, loaded, link = done.round_trips.to_dict("records")
    assert tuple(idle) == ROUND_TRIP_COLUMNS
    assert (idle["load"], idle["tries"], idle["verdict"]) == ("idle", 3, "within")
    assert idle["flags"] == "interference"
    assert idle["deviation_us"] == pytest.approx(60)
    assert (idle["least_us"], idle["greatest_us"]) == pytest.approx((50, 900))
    assert idle["pings"] == 3 * 41
    assert (loaded["goodput_Mbps"], loaded["flags"]) == (500.0, "load_short")
    assert (link["load"], link["verdict"]) == ("loaded link", "outside")
    (rate,) = done.rates.to_dict("records")
    assert tuple(rate) == RATE_COLUMNS
    assert rate["error_percent"] == pytest.approx(-0.5)
    assert done.verdicts == ["within", "within", "outside", "within"]


def test_the_accuracy_has_text_tables_and_json_with_any_part_missing():
    samples = [pinged(QUIET, 50), filled(RATE, 0, "failed", goodput_MBps=None)]
    done = EmulatorAccuracy.of(PLAN, samples, {})
    text = done.to_text()
    assert "Loaded link: beside one stream paced at 1000 Mb/s, on a path of 2500 Mb/s." in text
    assert "Every try counts" in text and "least, us" in text
    assert "+50" in text and "10.050" in text and "not measured" in text and "nan" not in text
    trips, rates = done.tables().values()
    assert "least, us" in trips._repr_html_() and "TCP can carry" in rates._repr_html_()
    assert done.as_json()["samples"] == samples
    assert done.verdicts == ["within", *["not measured"] * 3]


@pytest.mark.parametrize(
    ("wrong", "key"),
    [({"rtts_ms": ()}, "rtt"), ({"rtts_ms": (-1.0,)}, "rtt"), ({"pings": 1}, "pings")],
)
def test_a_level_that_cannot_be_is_refused_by_name(wrong, key):
    with pytest.raises(BadInput, match=key):
        EmulatorPlan(**wrong)
