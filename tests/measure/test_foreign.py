"""Foreign load is what processes other than the run's own used, on the more loaded host."""

from __future__ import annotations

import os

import pytest

from netlab.measure.exchange import Direction, RunOutcome
from netlab.measure.foreign import ForeignLoad, foreign_load
from netlab.measure.machines import controller_processes

US = 1_000_000
"""Both agents report a second of two CPUs."""


def end(pid: int, *top: tuple[int, str, int], more_us: int = 0) -> dict:
    """A result with the processes of its host: pid, name and CPU time in us."""
    processes = [{"pid": p, "born_ticks": 10 * p, "name": n, "cpu_us": us} for p, n, us in top]
    used_us = sum(us for _, _, us in top) + more_us
    others = {"pid": pid, "born_ticks": 10 * pid, "t0_ns": 0, "t1_ns": 10**9, "top": processes}
    return {"others": {**others, "cpu_us": used_us}, "meter": {"total": {"cpu": [{}, {}]}}}


def run(gen: dict, sink: dict) -> RunOutcome:
    return RunOutcome((Direction(gen=gen, sink=sink),), started_unix_ns=0, wall_s=1.0)


class Emulator:
    """An emulator that used some CPU time."""

    def __init__(self, us: float) -> None:
        self.us = us

    def cpu_us(self, t0_ns: int, t1_ns: int) -> float:
        assert (t0_ns, t1_ns) == (0, 10**9)
        return self.us


def test_the_more_loaded_host_counts_and_its_largest_process_is_named():
    found = foreign_load(
        run(end(5, (9, "cron", 100_000)), end(6, (8, "make", 300_000), (7, "cc", 100_000))),
    )
    assert found == ForeignLoad(pytest.approx(19.5), "make (process 8)")


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


def test_the_emulator_of_the_path_is_not_foreign():
    gen = end(5, (6, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    sink = end(6, (5, "gensink-1", 500_000), (7, "gensink-1", 400_000), more_us=20_000)
    found = foreign_load(run(gen, sink), emulated=Emulator(400_000))  # type: ignore[arg-type]
    assert found == ForeignLoad(pytest.approx(0.5), "")


def test_processes_below_the_longest_list_count():
    found = foreign_load(run(end(5, more_us=200_000), end(6)))
    assert found == ForeignLoad(pytest.approx(9.5), "")


def test_a_host_that_cannot_be_read_gives_no_load():
    unread = {"others": None, "meter": {"total": {"cpu": [{}]}}}
    assert foreign_load(run(end(5), unread)) is None
    assert foreign_load(run({}, {})) is None


def test_a_quiet_host_has_no_load():
    assert foreign_load(run(end(5), end(6))) == ForeignLoad(0.0)


def test_a_single_tick_is_below_the_resolution():
    assert foreign_load(run(end(5, (9, "cron", 10_000)), end(6))) == ForeignLoad(0.0)
