"""The largest plausible goodput follows from window, lateness, and data held after a loss."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.measure.plausible import BASE_PERCENT, READ_LATE_S, most_percent

PATH = {
    "window_s": 0.2,
    "ceiling_MBps": 60.0,
    "link_MBps": 62.5,
    "retransmits": 0,
    "rtt_us": 60_000.0,
    "path_rtt_us": 30_000.0,
    "path_queue_max_B": 1_875_000,
    "emulator_late_us": 500.0,
    "rcvbuf_B": 16_000_000.0,
    "streams": 1,
}


def percent(**changes: object) -> float:
    return most_percent(PATH | changes).percent


def test_a_long_window_allows_little_more_than_the_ceiling():
    assert percent(window_s=600.0) == pytest.approx(100 + BASE_PERCENT, abs=0.01)


def test_a_short_window_allows_what_reader_and_emulator_may_be_late():
    late_s = READ_LATE_S + 500e-6 + 65_536 / 60e6
    assert percent() == pytest.approx(100 + BASE_PERCENT + 100 * late_s / 0.2)
    assert percent() < 104
    assert percent(window_s=1.0) == pytest.approx(100 + BASE_PERCENT + 100 * late_s)


def test_after_a_loss_it_allows_what_arrived_in_a_round_trip_and_its_queue():
    held = most_percent(PATH | {"retransmits": 3})
    assert held.held_s == pytest.approx(0.030 + 1_875_000 / 62.5e6)
    assert held.percent == pytest.approx(percent() + 100 * held.held_s / 0.2)


def test_the_receive_buffer_bounds_what_is_held():
    small = most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 600_000.0})
    assert small.held_s == pytest.approx(0.01)
    assert most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 300_000.0, "streams": 2}) == small


def test_a_cable_with_losses_allows_its_round_trip():
    cable = {"window_s": 1.0, "ceiling_MBps": 1000.0, "retransmits": 9, "rtt_us": 300.0}
    assert most_percent(cable).held_s == pytest.approx(300e-6)


def test_losses_that_are_not_counted_may_have_been():
    assert percent(retransmits=None) == percent(retransmits=1)


@pytest.mark.parametrize("window_s", [None, 0.0])
def test_a_run_without_a_window_has_no_tolerance_for_it(window_s):
    assert percent(window_s=window_s) == 100 + BASE_PERCENT


@given(st.floats(0.05, 600), st.floats(0.05, 600), st.integers(0, 10))
def test_a_longer_window_never_allows_more(one_s, other_s, retransmits):
    short, long = sorted((one_s, other_s))
    assert percent(window_s=long, retransmits=retransmits) <= percent(
        window_s=short, retransmits=retransmits
    )
