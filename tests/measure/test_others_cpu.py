"""Foreign load is what processes other than the run's own used, on the more loaded host."""

import os

import pytest
from measure.ends_of_flags import end, run

from netlab.measure.others_cpu import ForeignLoad, foreign_load
from netlab.measure.shared_machines import controller_processes


class Emulator:
    """An emulator that used some CPU time."""

    def __init__(self, us: float) -> None:
        self.us = us

    def cpu_us(self, t0_ns: int, t1_ns: int) -> float:
        assert (t0_ns, t1_ns) == (0, 10**9)
        return self.us


def test_the_more_loaded_host_counts_with_its_largest_process_and_without_the_emulator():
    found = foreign_load(
        run(end(5, (9, "cron", 100_000)), end(6, (8, "make", 300_000), (7, "cc", 100_000)))
    )
    assert found == ForeignLoad(pytest.approx(19.5), "make (process 8)")
    gen = end(5, (6, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    sink = end(6, (5, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    found = foreign_load(run(gen, sink), emulated=Emulator(400_000))  # type: ignore[arg-type]
    assert found == ForeignLoad(pytest.approx(0.5), "")


def test_agents_of_one_machine_see_each_other_and_neither_is_foreign():
    gen = end(5, (6, "gensink-1", 800_000), (9, "make", 100_000))
    sink = end(6, (5, "gensink-1", 900_000), (9, "make", 100_000))
    assert foreign_load(run(gen, sink)) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # another PID namespace has other ids, and the same times of start
    sink["others"]["top"][0]["pid"] = 7005
    assert foreign_load(run(gen, sink)) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # the agent of another measurement is foreign, and so is a process that began with an agent
    gen["others"]["top"] += [{"pid": 1, "born_ticks": 60, "name": "make", "cpu_us": 200_000}]
    gen["others"]["top"][0]["born_ticks"] = 61
    found = foreign_load(run(gen, sink))
    assert found == ForeignLoad(pytest.approx(44.5), "gensink-1 (process 6)")


def test_the_controller_is_not_foreign_on_its_own_machine():
    (name, born), *_ = controller_processes()
    gen = end(5, (os.getpid(), name, 300_000), (9, "make", 100_000))
    assert foreign_load(run(gen, end(6))) == ForeignLoad(
        pytest.approx(19.5), f"{name} (process {os.getpid()})"
    )
    gen["others"]["top"][0]["born_ticks"] = born
    assert foreign_load(run(gen, end(6))) == ForeignLoad(pytest.approx(4.5), "make (process 9)")
    # another program of that name, born in the same tick
    gen["others"]["top"][1] |= {"pid": 8, "name": name, "born_ticks": born, "cpu_us": 400_000}
    gen["others"]["cpu_us"] += 300_000
    assert foreign_load(run(gen, end(6))) == ForeignLoad(pytest.approx(19.5), f"{name} (process 8)")


UNREAD = {"others": None, "meter": {"total": {"cpu": [{}]}}}


@pytest.mark.parametrize(
    ("gen", "sink", "load"),
    [
        # processes below the longest list count; a single tick is below the resolution
        (end(5, more_us=200_000), end(6), ForeignLoad(pytest.approx(9.5), "")),
        (end(5), end(6), ForeignLoad(0.0)),
        (end(5, (9, "cron", 10_000)), end(6), ForeignLoad(0.0)),
        # a host that cannot be read gives no load
        (end(5), UNREAD, None),
        ({}, {}, None),
    ],
)
def test_little_or_no_foreign_load(gen, sink, load):
    assert foreign_load(run(gen, sink)) == load
