"""netlab says what else uses the hosts, and waits for quiet for a time at most."""

from __future__ import annotations

import pytest

from netlab.experiment.quiet import QUIET_SPANS, SPAN_S, HostLoad, LoadReader, wait_until_quiet
from netlab.measure.exchange import RunEnd
from netlab.measure.others_cpu import TICK_US, ForeignLoad
from netlab.study import Noise

CPUS = 2
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Machine:
    """A clock, and an agent that reports the load of each span in turn."""

    def __init__(self, *shares: float, steal: float = 0.0, own: float = 0.0):
        self.shares, self.steal, self.own = list(shares), steal, own
        self.now_s = 0.0
        self.us = dict.fromkeys((f"{state}_us" for state in STATES), 0)
        self.read_s, self.foreign_us, self.own_us = 0.0, 0, 0

    def now(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        share = self.shares.pop(0) if len(self.shares) > 1 else self.shares[0]
        span_us = int(seconds * 1e6)
        self.now_s += seconds
        self.us["user_us"] += int((share + self.own) * span_us)
        self.us["steal_us"] += int(self.steal * span_us)
        self.us["idle_us"] += int((1 - share - self.own - self.steal) * span_us)
        self.foreign_us = int(share * CPUS * span_us) + TICK_US
        self.own_us = int(self.own * CPUS * span_us)

    def send(self, verb: str, **words: object) -> None:
        assert (verb, words["others"]) == ("meter", 1)

    def others(self) -> dict:
        """The processes since the last reading: a foreign one, and the agent of the other end."""
        top = [("make", 8, self.foreign_us), ("gensink-1", 60, self.own_us)]
        processes = [
            {"pid": born, "born_ticks": born, "name": name, "cpu_us": us} for name, born, us in top
        ]
        t0_ns, self.read_s = int(self.read_s * 1e9), self.now_s
        return {
            "pid": 6,
            "born_ticks": 60,
            "t0_ns": t0_ns,
            "t1_ns": int(self.now_s * 1e9),
            "cpu_us": self.foreign_us + self.own_us,
            "top": processes,
        }

    def poll(self, timeout_s: float) -> dict:
        each = {"frequency_kHz": None, "throttled": None}
        return {
            "event": "meter",
            "t_ns": int(self.now_s * 1e9),
            "interface": None,
            "cpu": [{"cpu": n, **self.us, **each} for n in range(CPUS)],
            "interrupts": 0,
            "context_switches": 0,
            "softnet": {"dropped": 0},
            "process": {"user_us": 0, "system_us": 0},
            "others": self.others(),
        }


BUSY = "left: other programs use {:.1f} % of the CPUs, most of it make (process 8)"


def waited(machine: Machine, at_most_s: float = 60.0, **noise: float) -> tuple[float, list[str]]:
    said: list[str] = []
    end = RunEnd("left", machine, "198.18.0.1", "data", 0, 0)
    reader = LoadReader([end], now=machine.now, pause=machine.pause)
    wait = wait_until_quiet(reader, Noise(**noise), at_most_s, say=said.append)
    return wait, said


def test_a_quiet_host_is_measured_at_once_and_its_load_is_said():
    assert waited(Machine(0.03)) == (0.0, [BUSY.format(3.0)])
    assert waited(Machine(0.01)) == (0.0, [])
    # the agent of the other end is netlab's own
    assert waited(Machine(0.03, own=0.3)) == (0.0, [BUSY.format(3.0)])


def test_the_wait_ends_when_the_load_has_ended():
    wait, said = waited(Machine(0.8, 0.8, 0.01, 0.5, 0.01))
    # a single quiet span between bursts does not count
    assert wait == pytest.approx((4 + QUIET_SPANS) * SPAN_S)
    assert said == [BUSY.format(80.0) + "; waiting for quiet, 60 s at most"]


def test_a_wait_has_an_end_and_says_what_is_left():
    wait, said = waited(Machine(0.8), at_most_s=10.0)
    assert 10.0 - SPAN_S < wait <= 10.0
    left = f"not quiet after 10 s: {BUSY.format(80.0)}; measuring all the same"
    assert said[1:] == [left]


def test_steal_is_waited_for_as_well():
    wait, said = waited(Machine(0.0, steal=0.2), at_most_s=5.0)
    assert 5.0 - SPAN_S < wait <= 5.0 and "steal 20.0 %; waiting" in said[0]


@pytest.mark.parametrize(
    ("steal", "foreign", "beyond"),
    [(5.0, 4.0, False), (5.1, 40.0, True), (None, 12.3, True), (None, None, False)],
)
def test_a_load_counts_beyond_its_limit(steal, foreign, beyond):
    load = HostLoad("h", steal, None if foreign is None else ForeignLoad(foreign))
    assert load.is_beyond(Noise()) is beyond
