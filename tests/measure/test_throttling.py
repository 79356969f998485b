"""Throttling of the CPUs is read from the meters of both ends."""

from __future__ import annotations

import pytest

from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.flags import Throttling, throttling


def cpu(first_kHz=None, last_kHz=None, throttled=None, busy_us=900_000) -> dict:
    """One CPU over a second."""
    return {
        "cpu": 0,
        "user_us": busy_us,
        "idle_us": 1_000_000 - busy_us,
        "first_frequency_kHz": first_kHz,
        "frequency_kHz": last_kHz,
        "throttled": throttled,
    }


def found(*cpus: dict, sink: tuple[dict, ...] = ()) -> Throttling:
    ends = [
        {"meter": {part: {"cpu": list(rows)} for part in ("window", "total")}}
        for rows in (cpus, sink)
    ]
    return throttling(RunOutcome((Direction(*ends),), started_unix_ns=0, wall_s=1.0))


def test_hosts_without_counts_tell_nothing():
    assert found(cpu(), sink=(cpu(),)) == Throttling(None, None)
    blind = RunOutcome((Direction({"meter": None}, {}),), started_unix_ns=0, wall_s=1.0)
    assert throttling(blind) == Throttling(None, None)


def test_an_agent_that_reports_no_frequency_tells_nothing():
    bare = {"cpu": 0, "user_us": 1, "idle_us": 0}
    assert found(bare) == Throttling(None, None)


def test_the_cpu_with_most_events_counts_at_either_end():
    assert found(cpu(throttled=0), sink=(cpu(throttled=3), cpu(throttled=1))).events == 3
    assert found(cpu(throttled=0)).events == 0


def test_the_busy_cpu_that_slowed_most_counts():
    slow = cpu(3_000_000, 2_400_000)
    assert found(cpu(3_000_000, 3_300_000), slow).frequency_percent == pytest.approx(-20)
    assert found(cpu(3_000_000, 3_300_000)).frequency_percent == pytest.approx(10)


def test_an_idle_cpu_may_slow_down():
    idle = cpu(3_000_000, 800_000, busy_us=300_000)
    assert found(idle).frequency_percent is None
    assert found(idle, cpu(3_000_000, 2_999_000)).frequency_percent == pytest.approx(
        -0.033, abs=0.01
    )
