"""Throttling of the CPUs is read from the meters of both ends."""

import pytest

from netlab.measure.cpu_frequency import throttling
from netlab.measure.exchange import Direction, RunOutcome

THROTTLED = ("throttle_events", "cpu_frequency_percent")


def cpu(first_kHz=None, last_kHz=None, throttled=None, busy_us=900_000) -> dict:
    """One CPU over a second."""
    spent = {"cpu": 0, "user_us": busy_us, "idle_us": 1_000_000 - busy_us, "throttled": throttled}
    return {**spent, "first_frequency_kHz": first_kHz, "frequency_kHz": last_kHz}


def cpus(*cpus: dict) -> dict:
    return {"meter": {part: {"cpu": list(cpus)} for part in ("window", "total")}}


FASTER, SLOWER = cpu(3_000_000, 3_300_000), cpu(3_000_000, 2_400_000)
IDLE = cpu(3_000_000, 800_000, busy_us=300_000)


@pytest.mark.parametrize(
    ("gen", "sink", "events", "percent"),
    [
        # hosts without counts tell nothing
        (cpus(cpu()), cpus(cpu()), None, None),
        ({"meter": None}, {}, None, None),
        (cpus({"cpu": 0, "user_us": 1, "idle_us": 0}), cpus(), None, None),
        # the CPU with most events counts at either end
        (
            cpus(cpu(throttled=0)),
            cpus(cpu(throttled=3), cpu(throttled=1)),
            3,
            None,
        ),
        (cpus(cpu(throttled=0)), cpus(), 0, None),
        # the busy CPU that slowed most counts; an idle one may slow down
        (cpus(FASTER, SLOWER), cpus(), None, pytest.approx(-20)),
        (cpus(FASTER), cpus(), None, pytest.approx(10)),
        (cpus(IDLE), cpus(), None, None),
        (
            cpus(IDLE, cpu(3_000_000, 2_999_000)),
            cpus(),
            None,
            pytest.approx(-0.033, abs=0.01),
        ),
    ],
)
def test_events_and_the_change_of_frequency_are_those_of_the_worst_cpu(gen, sink, events, percent):
    found = throttling(RunOutcome((Direction(gen, sink),), started_unix_ns=0, wall_s=1.0))
    assert found == dict(zip(THROTTLED, (events, percent), strict=True))
