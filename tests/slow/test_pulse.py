"""Signs of life: processes that are pulsed live on, others end."""

from __future__ import annotations

import threading
import time

import pytest
from local_host import SubprocessPipe

from netlab import core
from netlab.hosts.host import LineProcess, Pulse


class Counted:
    def __init__(self):
        self.pulses = 0

    def pulse(self):
        self.pulses += 1


def wait_for(condition, timeout_s=10.0):
    until = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_members_are_pulsed_until_they_are_removed():
    pulse, one, two = Pulse(0.01), Counted(), Counted()
    pulse.add(one)
    pulse.add(two)
    wait_for(lambda: one.pulses > 2 and two.pulses > 2)
    pulse.remove(one)
    time.sleep(0.05)
    before, others = one.pulses, two.pulses
    wait_for(lambda: two.pulses > others)
    assert one.pulses == before


def test_one_thread_serves_all_and_ends_with_the_last():
    pulse, members = Pulse(0.01), [Counted() for _ in range(5)]

    def alive():
        return [t for t in threading.enumerate() if t.name == "netlab-pulse"]

    others = len(alive())
    for member in members:
        pulse.add(member)
    assert len(alive()) == others + 1
    for member in members:
        pulse.remove(member)
    wait_for(lambda: len(alive()) == others)
    pulse.add(members[0])
    wait_for(lambda: members[0].pulses > 0)
    pulse.remove(members[0])


@pytest.fixture
def agent():
    argv = (str(core.gensink_path()), "agent", "--silence-s", "1")
    with LineProcess(SubprocessPipe(argv), host="h", argv=argv) as process:
        assert process.receive(10)["event"] == "ready"
        yield process


def test_a_pulsed_agent_lives_and_sends_no_answer(agent):
    pulse = Pulse(0.2)
    pulse.add(agent)
    assert agent.poll(2.5) is None
    agent.send("ping")
    assert agent.receive(5)["event"] == "pong"
    pulse.remove(agent)
