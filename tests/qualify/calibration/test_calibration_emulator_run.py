"""Every cell of the emulator's calibration is measured the same number of times."""

import pytest
from emulator_samples import filled, pinged

from netlab.qualify.calibration.emulator_cells import IDLE, EmulatedRate, RoundTrip
from netlab.qualify.calibration.emulator_run import tried

TRIP, RATE = RoundTrip(10.0, IDLE), EmulatedRate(100.0, 20.0, 1500)


@pytest.mark.parametrize(
    ("cell", "samples"),
    [
        (TRIP, [pinged(TRIP, 0)] * 3),
        (TRIP, [pinged(TRIP, 900), pinged(TRIP, 0), pinged(TRIP, 0, mean_ms=None)]),
        (RATE, [filled(RATE, -9, "interference"), filled(RATE, 0), filled(RATE, 0)]),
    ],
)
def test_no_figure_ends_the_tries_early_or_adds_one(cell, samples):
    left = iter(samples)
    made = tried(cell, lambda: next(left), 3)
    assert [one["try"] for one in made] == [1, 2, 3]
    assert all(cell.key.items() <= one.items() for one in made)
    assert next(left, None) is None
