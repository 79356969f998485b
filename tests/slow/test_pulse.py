"""Signs of life: processes that are pulsed live on, others end."""

from __future__ import annotations

import threading

import pytest
from local_host import SubprocessPipe
from waiting import until

from netlab import core
from netlab.hosts.host import LineProcess, Pulse


class Counted:
    def __init__(self):
        self.pulses = 0

    def pulse(self):
        self.pulses += 1


def test_members_are_pulsed_until_they_are_removed():
    pulse, one, two = Pulse(0.01), Counted(), Counted()
    pulse.add(one)
    pulse.add(two)
    until(lambda: one.pulses > 2 and two.pulses > 2)
    pulse.remove(one)
    for _ in range(2):  # a round under way may still have it
        before, others = one.pulses, two.pulses
        until(lambda others=others: two.pulses > others + 1)
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
    until(lambda: len(alive()) == others)
    pulse.add(members[0])
    until(lambda: members[0].pulses > 0)
    pulse.remove(members[0])


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
