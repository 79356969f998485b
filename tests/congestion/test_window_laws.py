"""Window laws against their published numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab import congestion
from netlab.congestion import HIGHSPEED, LAWS, RENO, SCALABLE
from netlab.errors import BadInput


def test_a_window_is_needed_of_rate_times_round_trip():
    assert congestion.bdp_B(2500, 183.022) == pytest.approx(57_194_375)
    assert congestion.bdp_B(1000, 100) == pytest.approx(12.5e6)


@given(st.floats(1, 1e6), st.floats(0.01, 1e4))
def test_a_window_of_one_bdp_allows_the_rate(rate_Mbps, rtt_ms):
    window = congestion.bdp_B(rate_Mbps, rtt_ms)
    assert congestion.window_limit_Mbps(window, rtt_ms) == pytest.approx(rate_Mbps)


def test_the_segment_is_the_mtu_less_headers_and_gigabit_carries_the_known_payload():
    assert congestion.mss_B(9000) == 8948
    assert congestion.mss_B(1500, timestamps=False) == 1460
    assert congestion.ethernet_goodput_Mbps(1000, 1500) == pytest.approx(941.48, abs=0.01)
    assert congestion.ethernet_goodput_Mbps(1000, 9000) == pytest.approx(990.04, abs=0.01)


@pytest.mark.parametrize(
    "law, window, round_trips, rel",
    [
        (RENO, 1000, 500, 1e-6),
        (RENO, 25.5, 12.75, 1e-6),
        *((SCALABLE, w, math.log(8 / 7) / math.log(1.01), 0.001) for w in (100, 6391, 1e6)),
    ],
)
def test_reno_recovers_in_half_the_window_and_scalable_in_as_many_whatever_it_is(
    law, window, round_trips, rel
):
    assert law.recovery_round_trips(window) == pytest.approx(round_trips, rel=rel)


@pytest.mark.parametrize(
    "window, growth, decrease",
    [(38, 1, 0.50), (118, 2, 0.44), (221, 3, 0.41), (347, 4, 0.38), (495, 5, 0.37)],
)
def test_highspeed_gives_the_table_of_rfc_3649(window, growth, decrease):
    """RFC 3649, appendix B: the windows at which a(w) reaches each whole number."""
    assert HIGHSPEED.growth(window) == pytest.approx(growth, rel=0.02)
    assert 1 - HIGHSPEED.kept(window) == pytest.approx(decrease, abs=0.006)
    assert 1 - HIGHSPEED.kept(83_000) == pytest.approx(0.1), "the last of them"
    assert HIGHSPEED.growth(83_000) == pytest.approx(72, abs=1)


@pytest.mark.parametrize("law", [HIGHSPEED, SCALABLE], ids=lambda law: law.name)
@given(window=st.floats(2, 16))
def test_small_windows_follow_reno(law, window):
    assert law.recovery_round_trips(window) == RENO.recovery_round_trips(window)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@given(window=st.floats(2, 20_000))
def test_a_trajectory_rises_from_the_loss_to_the_old_window(law, window):
    windows = law.trajectory(window)
    assert windows[0] == pytest.approx(window * law.kept(window))
    assert windows[-1] == window
    assert (np.diff(windows) > 0).all()
    assert law.recovery_round_trips(window) <= len(windows) - 1


def test_the_stacks_keep_their_order_on_the_wide_area_path():
    window = congestion.bdp_B(2500, 183.022) / congestion.mss_B(9000)
    seconds = [law.recovery_s(window, 183.022) for law in LAWS]
    assert seconds == sorted(seconds, reverse=True)
    assert seconds[0] == pytest.approx(585, abs=1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: congestion.bdp_B(-1, 10),
        lambda: congestion.bdp_B(10, 0),
        lambda: congestion.bdp_B(math.nan, 10),
        lambda: congestion.window_limit_Mbps(math.inf, 10),
        lambda: congestion.mss_B(40),
        lambda: congestion.mss_B("1500"),
        lambda: RENO.trajectory(1),
        lambda: RENO.trajectory(-5),
        lambda: RENO.trajectory(1e12),
        lambda: RENO.recovery_s(100, 0),
    ],
)
def test_absurd_input_is_refused(call):
    with pytest.raises(BadInput):
        call()
