"""A figure of the emulator is measured again if other work can explain its error."""

from emulator_samples import filled, pinged

from netlab.qualify.calibration.emulator_cells import IDLE, LOADED, EmulatedRate, RoundTrip
from netlab.qualify.calibration.emulator_run import tried

TRIP, BUSY = RoundTrip(10.0, IDLE), RoundTrip(10.0, LOADED)
RATE = EmulatedRate(100.0, 20.0, 1500)


def tries_of(cell, *samples: dict) -> list[dict]:
    left = iter(samples)
    return tried(cell, lambda: next(left), len(samples), pause_s=0.0)


def test_a_figure_within_its_bound_is_not_measured_again():
    (only,) = tries_of(TRIP, pinged(TRIP, 10), pinged(TRIP, 0))
    assert (only["try"], only["rtt_ms"], only["load"]) == (1, 10.0, "idle")


def test_what_a_busy_machine_can_cause_is_measured_again_up_to_a_limit():
    assert len(tries_of(TRIP, pinged(TRIP, 900), pinged(TRIP, 10), pinged(TRIP, 0))) == 2
    assert [one["try"] for one in tries_of(TRIP, *[pinged(TRIP, 900)] * 3)] == [1, 2, 3]
    assert len(tries_of(RATE, filled(RATE, -3), filled(RATE, 0.1), filled(RATE, 0))) == 2
    assert len(tries_of(TRIP, pinged(TRIP, 0, mean_ms=None), pinged(TRIP, 0))) == 2
    assert len(tries_of(BUSY, pinged(BUSY, 0, "load_short"), pinged(BUSY, 0))) == 2


def test_what_no_other_work_can_cause_stands_as_it_is():
    assert len(tries_of(TRIP, pinged(TRIP, -900), pinged(TRIP, 0))) == 1
    assert len(tries_of(RATE, filled(RATE, 3), filled(RATE, 0))) == 1
