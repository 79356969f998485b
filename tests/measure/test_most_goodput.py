"""The largest plausible goodput follows from window, lateness, and data held after a loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.measure.most_goodput import BASE_PERCENT, READ_LATE_S, most_percent

PATH = {
    **{"window_s": 0.2, "ceiling_MBps": 60.0, "link_MBps": 62.5, "retransmits": 0, "streams": 1},
    **{"rtt_us": 60_000.0, "path_rtt_us": 30_000.0, "path_queue_max_B": 1_875_000},
    **{"emulator_late_us": 500.0, "rcvbuf_B": 16_000_000.0},
}


def plausible_percent(**changes: object) -> float:
    return most_percent(PATH | changes).percent


def test_a_window_allows_what_reader_and_emulator_may_be_late():
    late_s = READ_LATE_S + 500e-6 + 65_536 / 60e6
    assert plausible_percent() == pytest.approx(100 + BASE_PERCENT + 100 * late_s / 0.2)
    assert plausible_percent() < 104
    assert plausible_percent(window_s=1.0) == pytest.approx(100 + BASE_PERCENT + 100 * late_s)
    assert plausible_percent(window_s=600.0) == pytest.approx(100 + BASE_PERCENT, abs=0.01)
    for none in (None, 0.0):
        assert plausible_percent(window_s=none) == 100 + BASE_PERCENT


def test_a_window_allows_what_a_bucket_of_tokens_holds():
    """A bucket of 6 MB that fills at 60 MB/s passes 0.1 s of the rate at once."""
    waits_s = READ_LATE_S + 500e-6
    bucket = plausible_percent(burst_B=6_000_000, window_s=1.0)
    assert bucket == pytest.approx(100 + BASE_PERCENT + 100 * (waits_s + 0.1))
    assert plausible_percent(burst_B=1514) == plausible_percent(burst_B=None) == plausible_percent()


def test_after_a_loss_it_allows_what_a_round_trip_its_queue_and_the_receive_buffer_hold():
    held = most_percent(PATH | {"retransmits": 3})
    assert held.held_s == pytest.approx(0.030 + 1_875_000 / 62.5e6)
    assert held.percent == pytest.approx(plausible_percent() + 100 * held.held_s / 0.2)
    assert plausible_percent(retransmits=None) == plausible_percent(retransmits=1)
    small = most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 600_000.0})
    assert small.held_s == pytest.approx(0.01), "the receive buffer bounds it"
    assert most_percent(PATH | {"retransmits": 3, "rcvbuf_B": 300_000.0, "streams": 2}) == small
    cable = {"window_s": 1.0, "ceiling_MBps": 1000.0, "retransmits": 9, "rtt_us": 300.0}
    assert most_percent(cable).held_s == pytest.approx(300e-6)


@given(st.floats(0.05, 600), st.floats(0.05, 600), st.integers(0, 10))
def test_a_longer_window_never_allows_more(one_s, other_s, retransmits):
    short, long = sorted((one_s, other_s))
    assert plausible_percent(window_s=long, retransmits=retransmits) <= plausible_percent(
        window_s=short, retransmits=retransmits
    )
