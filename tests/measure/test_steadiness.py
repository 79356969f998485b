"""A burst whose credit ends within a window is found, and what TCP or a short window do is not."""

import math

import numpy as np
import pytest

from netlab.measure.steadiness import LEAST_INTERVALS, cut, may_be_halved, unsteady

# MB of every 40 ms of runs of two seconds through tc's tbf: 20 MB/s, and a credit of 400 MB that
# earlier runs had used in part. The first rate is that of a busy processor.
BUCKET = {
    0.42: "15.78 13.75 11.11 9.31 11.3 12.62 12.63 6.07 8.16 12.73 0.72 0.78 0.78 0.77 0.75 "
    "0.79 0.75 0.77 0.72 0.78 0.85 0.65 0.78 0.81 0.75 0.78 0.72 0.78",
    0.1: "34.17 4.74 0.72 0.77 0.73 0.85 0.72 0.72 0.81 0.72 0.85 0.72 0.78 0.78 0.78 0.72 "
    "0.78 0.78 0.78 0.72 0.78 0.78 0.78 0.72 0.78 0.78 0.72 0.81 0.75",
    0.81: "6.08 3.72 5.1 4.81 3.76 4.67 4.12 4.35 4.71 5.1 4.74 4.06 5.17 5.69 5.72 7.02 5.79 "
    "5.75 5.1 3.53 0.78 0.78 0.78 0.68 0.75 0.85 0.78 0.65 0.88 0.69",
}


def samples(moved_MB: list[float], length_s: float = 0.04, direction: str = "forward") -> list:
    n = len(moved_MB)
    return [
        {
            "direction": direction,
            "t_s": 0.1 + length_s * np.arange(1, n + 1),
            "interval_s": np.full(n, length_s),
            "bytes": np.array([round(1e6 * MB) for MB in moved_MB]),
            "in_window": np.full(n, True),
        }
    ]


@pytest.mark.parametrize("at_s", BUCKET)
def test_the_end_of_a_token_buckets_credit_is_found(at_s):
    found = unsteady(samples([float(MB) for MB in BUCKET[at_s].split()]), halved=True)
    assert found.step.at_s == pytest.approx(at_s, abs=0.045)
    assert found.sustained_MBps == pytest.approx(19.2, rel=0.03)
    assert found.step.before_MBps > 100


def test_the_step_is_said_in_rates_and_the_time_since_the_windows_start():
    found = unsteady(samples([60.0] * 15 + [4.0] * 35), halved=True)
    assert found.step.text() == "1,500 until 0.6 s, then 100 MB/s"


def test_a_step_of_one_direction_leaves_the_rate_of_the_other():
    both = samples([6.0] * 10 + [0.8] * 20) + samples([4.0] * 30, direction="reverse")
    found = unsteady(both, halved=True)
    assert found.direction == "forward"
    assert found.sustained_MBps == pytest.approx(20 + 100)


# MB/s, or shapes, that are no bucket's.
STEADY = {
    "a short window": [10.0, 9.0, 2.0, 2.1, 2.0],
    "slow start": [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 4.0] + [4.0] * 20,
    "slow start whose queue overflows": [0.1, 0.4, 1.6, 6.4, 0.0, 0.0, 1.0] + [4.0] * 20,
    "a last timeout": [4.0] * 40 + [0.0] * 5,
    "a last timeout, and what followed it": [4.0] * 40 + [0.0] * 5 + [0.1, 0.4],
    "Reno after a loss": [8.0] * 12 + [4.0 + 0.05 * i for i in range(38)],
    "a window that recovers from many losses": [8.0] * 10 + [0.5 + 0.05 * i for i in range(40)],
    "one interval behind a loss, and the next with what it held": [4.0] * 20 + [0, 8] + [4.0] * 20,
    "silence": [0.0] * 30,
}


@pytest.mark.parametrize("name", STEADY)
def test_what_tcp_does_by_itself_is_not_a_step(name):
    assert unsteady(samples(STEADY[name]), halved=True) is None


def test_a_halved_rate_is_a_step_only_where_no_loss_can_have_halved_it():
    halved = samples([8.0] * 20 + [4.0] * 20)
    assert unsteady(halved, halved=True) is None
    assert unsteady(halved, halved=False).sustained_MBps == pytest.approx(100)


def test_losses_and_a_full_core_may_halve_a_rate():
    """A stream of one thread on two CPUs fell from 1,210 to 800 MB/s and stayed."""
    calm = {"retransmits": 0, "busiest_core_percent": 60.0}
    assert not may_be_halved(calm)
    assert not may_be_halved(calm | {"busiest_core_percent": None})
    assert may_be_halved(calm | {"busiest_core_percent": 100.0})
    assert may_be_halved(calm | {"retransmits": 1})
    assert may_be_halved(calm | {"retransmits": None})


@pytest.mark.parametrize("count", [0, 1, LEAST_INTERVALS - 1])
def test_fewer_intervals_than_a_test_needs_are_not_tested(count):
    assert (
        unsteady(samples([9.0] * (count // 2) + [1.0] * (count - count // 2)), halved=False) is None
    )


def test_a_fall_as_a_flow_ends_by_plan_is_not_a_step():
    whole = samples([100.0] * 20 + [20.0] * 20)
    assert unsteady(whole, halved=True)
    end_s = float(whole[0]["t_s"][19])
    assert unsteady(cut(whole, (0.0, end_s)), halved=True) is None
    assert unsteady(cut(whole, (0.0, math.inf)), halved=True)
    assert cut(whole, None) is whole
