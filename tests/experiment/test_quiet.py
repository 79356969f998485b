"""Before disturbed runs are measured again, netlab waits for quiet hosts, for a time at most."""

from __future__ import annotations

import pytest

from netlab.experiment.quiet import QUIET_SPANS, SPAN_S, Wait, load_beyond, wait_until_quiet
from netlab.measure import RunEnd
from netlab.study import Noise

CPUS = 2
STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


class Machine:
    """A clock, and an agent whose meter grows by the load of each span in turn."""

    def __init__(self, *shares: float, steal: float = 0.0, own: float = 0.0):
        self.shares, self.steal, self.own = list(shares), steal, own
        self.now_s = 0.0
        self.us = dict.fromkeys((f"{state}_us" for state in STATES), 0)
        self.own_us = 0

    def now(self) -> float:
        return self.now_s

    def pause(self, seconds: float) -> None:
        share = self.shares.pop(0) if len(self.shares) > 1 else self.shares[0]
        span_us = int(seconds * 1e6)
        self.now_s += seconds
        self.us["user_us"] += int((share + self.own) * span_us)
        self.us["steal_us"] += int(self.steal * span_us)
        self.us["idle_us"] += int((1 - share - self.own - self.steal) * span_us)
        self.own_us += int(self.own * CPUS * span_us)

    def send(self, verb: str, **words: object) -> None:
        assert verb == "meter"

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
            "process": {"user_us": self.own_us, "system_us": 0},
        }


def waited(machine: Machine, at_most_s: float = 60.0, **noise: float) -> tuple[Wait, list[str]]:
    said: list[str] = []
    end = RunEnd("left", machine, "198.18.0.1", "data", 0, 0)
    wait = wait_until_quiet(
        [end], Noise(**noise), at_most_s, say=said.append, now=machine.now, pause=machine.pause
    )
    return wait, said


def test_quiet_hosts_are_believed_after_some_spans_without_a_word():
    assert waited(Machine(0.01)) == (Wait(QUIET_SPANS * SPAN_S, ""), [])


def test_the_wait_ends_when_the_load_has_ended():
    wait, said = waited(Machine(0.8, 0.8, 0.01, 0.5, 0.01))
    # a single quiet span between bursts does not count
    assert wait == Wait((4 + QUIET_SPANS) * SPAN_S, "")
    assert said == ["waiting for quiet hosts, 60 s at most: left: foreign CPU load 80 %"]


def test_a_wait_has_an_end_and_names_the_load():
    wait, said = waited(Machine(0.8), at_most_s=10.0)
    assert wait == Wait(10.0, "left: foreign CPU load 80 %")
    assert len(said) == 1


def test_what_netlab_itself_uses_is_no_reason_to_wait():
    assert waited(Machine(0.0, own=0.3))[0] == Wait(QUIET_SPANS * SPAN_S, "")


def test_steal_is_waited_for_as_well():
    wait, said = waited(Machine(0.0, steal=0.2), at_most_s=5.0)
    assert wait.load == "left: steal 20 %" and said


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ({"steal_percent": 5.0, "foreign_cpu_percent": 4.0}, ""),
        ({"steal_percent": 5.1, "foreign_cpu_percent": 40.0}, "h: steal 5 %"),
        ({"steal_percent": None, "foreign_cpu_percent": 12.3}, "h: foreign CPU load 12 %"),
        ({"steal_percent": None, "foreign_cpu_percent": None}, ""),
    ],
)
def test_a_load_counts_beyond_its_limit(load, words):
    assert load_beyond(Noise(), "h", load) == words
