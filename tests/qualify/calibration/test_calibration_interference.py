"""Bursts of foreign load: their cost within a run, and the share of runs that is flagged."""

from __future__ import annotations

import math
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import BadInput
from netlab.qualify.calibration.burner import Bursts
from netlab.qualify.calibration.interference import (
    ALL_BURSTS,
    NO_TRAFFIC,
    NOTHING,
    TRAFFIC,
    InterferencePlan,
    InterferenceResult,
    cost_percent,
)


def samples(rates: np.ndarray, step_s: float = 0.01) -> pd.DataFrame:
    """Samples of one stream in its window, bytes a second."""
    t_s = step_s * np.arange(1, len(rates) + 1)
    return pd.DataFrame(
        {"t_s": t_s, "interval_s": step_s, "bytes": rates * step_s, "in_window": True}
    )


@given(
    st.integers(5, 45), st.integers(1, 30), st.floats(0, 1), st.floats(1e6, 1e10, allow_nan=False)
)
def test_the_cost_is_the_share_of_the_window_that_was_lost(first, length, share, rate_Bps):
    rates = np.full(100, rate_Bps)
    rates[first : first + length] *= 1 - share
    found = cost_percent(samples(rates), [(0.01 * first + 1e-4, 0.01 * (first + length) - 1e-4)], 0)
    assert found == pytest.approx(length * share, abs=0.01)


def test_bursts_on_several_cpus_count_once():
    rates = np.full(50, 1e9)
    rates[10:20] = 0
    assert cost_percent(samples(rates), [(0.101, 0.199), (0.101, 0.15)], 0) == pytest.approx(20)


def test_a_run_without_samples_outside_the_burst_has_no_cost():
    assert math.isnan(cost_percent(samples(np.full(10, 1e9)), [(-1.0, 1.0)]))


def run(injected: str, cost: float, flagged: bool) -> dict:
    return {
        "injected": injected,
        "goodput_MBps": 100.0,
        "cost_percent": cost,
        "flagged": flagged,
    }


PLAN = InterferencePlan(lengths_ms=(100,), runs=10, traffic_runs=20)
BURST = "100 ms on all CPUs"


def judged(*runs: dict) -> dict[str, dict]:
    return InterferenceResult.of(PLAN, runs, {}).cells.set_index("injected").T.to_dict()


def test_runs_that_lost_much_must_be_flagged():
    cells = judged(*[run(BURST, 9.0, True)] * 40, run(NOTHING, 0.0, False))
    assert cells["all bursts"]["verdict"] == "within"
    assert cells[BURST]["moved"] == cells[BURST]["moved_flagged"] == 40
    missed = judged(*[run(BURST, 9.0, True)] * 20, *[run(BURST, 9.0, False)] * 20)
    assert missed["all bursts"]["verdict"] == "outside"
    assert missed["all bursts"]["percent"] == 50


def test_runs_that_lost_little_need_no_flag():
    cells = judged(*[run(BURST, 3.0, False)] * 40)
    assert cells["all bursts"]["verdict"] == "not measured"
    assert cells[BURST]["moved"] == 0


def test_untouched_runs_must_not_be_flagged():
    fine = judged(*[run(NOTHING, 0.0, False)] * 40)
    assert fine[NOTHING]["verdict"] == "within"
    flagged = judged(*[run(NOTHING, 0.0, False)] * 30, *[run(NOTHING, 0.0, True)] * 10)
    assert flagged[NOTHING]["verdict"] == "outside"


def test_a_failed_run_does_not_count():
    failed = run(BURST, 9.0, False) | {"goodput_MBps": None}
    assert judged(failed)[BURST]["runs"] == 0


def test_the_order_is_a_shuffle_of_all_kinds_from_the_seed():
    order = PLAN.order()
    assert order == PLAN.order()
    assert order != InterferencePlan(lengths_ms=(100,), runs=10, seed=1).order()
    counts = pd.Series([burst.text for burst, _ in order]).value_counts().to_dict()
    assert counts == {NOTHING: 30, "100 ms on one CPU": 10, BURST: 10}
    assert all(0 <= moment < 1 for _, moment in order)


def test_foreign_traffic_has_rows_and_verdicts_of_its_own():
    runs = [run(TRAFFIC, 9.0, True)] * 40 + [run(NO_TRAFFIC, 0.0, False)] * 40
    cells = judged(*runs, *[run(BURST, 9.0, False)] * 40)
    assert cells[TRAFFIC]["verdict"] == cells[NO_TRAFFIC]["verdict"] == "within"
    assert cells[ALL_BURSTS]["verdict"] == "outside" and cells[ALL_BURSTS]["runs"] == 40
    assert judged(*[run(TRAFFIC, 9.0, False)] * 40)[TRAFFIC]["verdict"] == "outside"
    assert judged(*[run(NO_TRAFFIC, 0.0, True)] * 40)[NO_TRAFFIC]["verdict"] == "outside"


def test_foreign_traffic_has_random_sizes_and_moments_from_the_seed():
    plan = InterferencePlan(traffic_runs=30)
    order = plan.traffic_order()
    assert (
        order == plan.traffic_order() != InterferencePlan(traffic_runs=30, seed=1).traffic_order()
    )
    sent = [one for one, _ in order if one.length_ms]
    assert len(order) == 60 and len(sent) == 30
    assert len({one.rate_MBps for one in sent}) == len({one.length_ms for one in sent}) == 30
    assert all(50 <= one.length_ms <= 300 and 5 <= one.rate_MBps <= 50 for one in sent)
    assert all(0 <= moment < 1 for _, moment in order)


@pytest.mark.parametrize(
    ("given_plan", "code"),
    [
        ({"runs": 0}, "E-CALIBRATION-006"),
        ({"traffic_runs": 0}, "E-CALIBRATION-006"),
        ({"lengths_ms": (500,)}, "E-CALIBRATION-007"),
    ],
)
def test_a_plan_out_of_range_is_refused(given_plan, code):
    with pytest.raises(BadInput) as error:
        InterferencePlan(**given_plan)
    assert error.value.code == code


def test_a_burst_burns_its_cpu_for_its_length():
    with Bursts() as bursts:
        cpu = bursts.cpus[:1]
        start_ns = time.monotonic_ns() + 20_000_000
        ((begun_ns, ended_ns),) = bursts.burn(cpu, start_ns, 30_000_000)
    assert begun_ns >= start_ns
    assert ended_ns - begun_ns >= 30_000_000
    assert not bursts.cpus
