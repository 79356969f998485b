"""Signs of life: processes that are pulsed live on, others end."""

import threading

import pytest
from local_host import SubprocessPipe
from waiting import until

from netlab import core
from netlab.hosts.line_process import LineProcess, Pulse


class Counted:
    def __init__(self):
        self.pulses = 0

    def pulse(self):
        self.pulses += 1


def test_members_are_pulsed_by_one_thread_until_they_are_removed():
    def alive() -> int:
        return sum(thread.name == "netlab-pulse" for thread in threading.enumerate())

    pulse, one, two, others = Pulse(0.01), Counted(), Counted(), alive()
    pulse.add(one)
    pulse.add(two)
    until(lambda: one.pulses > 2 and two.pulses > 2)
    assert alive() == others + 1
    pulse.remove(one)
    for _ in range(2):  # a round under way may still have it
        before, then = one.pulses, two.pulses
        until(lambda then=then: two.pulses > then + 1)
    assert one.pulses == before
    pulse.remove(two)
    until(lambda: alive() == others)
    pulse.add(one)
    until(lambda: one.pulses > before)
    pulse.remove(one)


@pytest.fixture
def agent():
    argv = (str(core.gensink_path()), "agent", "--silence-s", "3")
    with LineProcess(SubprocessPipe(argv), host="h", argv=argv) as process:
        assert process.receive(30)["event"] == "ready"
        yield process


def test_a_pulsed_agent_lives_and_sends_no_answer(agent):
    pulse = Pulse(0.2)
    pulse.add(agent)
    assert agent.poll(4.5) is None
    agent.send("ping")
    assert agent.receive(30)["event"] == "pong"
    pulse.remove(agent)
