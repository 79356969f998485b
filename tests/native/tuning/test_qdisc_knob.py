"""Queueing disciplines of the queues of an interface, and their parameters."""

from __future__ import annotations

import pytest

from netlab.tuning import Knob
from tests.native.tuning.conftest import begun

QDISC = "knob=qdisc interface=q0"
LEAVES = "tc qdisc show dev q0 | grep parent | sort"


@pytest.fixture
def queues(namespace):
    """An interface with three transmit queues."""
    namespace.sh(
        "ip link add q0 numtxqueues 3 numrxqueues 3 type veth "
        "peer name q1 numtxqueues 3 numrxqueues 3; ip link set q0 up; ip link set q1 up"
    )
    return namespace


def test_every_queue_below_mq_gets_the_discipline(queues):
    before = queues.sh("tc qdisc show dev q0")
    channel = begun(queues)
    answer = channel.ask(f"set {QDISC} value=mq%20pfifo")
    assert (answer["status"], answer["readback"]) == ("applied", "mq pfifo"), answer
    leaves = queues.sh(LEAVES).splitlines()
    assert [line.split()[:5] for line in leaves] == [
        ["qdisc", "pfifo", f"{0x6E6D + i:x}:", "parent", f"6e6c:{i + 1}"] for i in range(3)
    ]
    assert channel.ask("verify")["drifted"] == 0
    answer = channel.ask(f"set {QDISC} value=mq")
    assert (answer["old"], answer["readback"]) == ("mq pfifo", "mq")
    assert channel.ask_all("revert", "reverted_all")[0]["status"] == "restored"
    assert queues.sh("tc qdisc show dev q0") == before
    assert channel.close() == 0


def test_the_guard_restores_the_queues(queues):
    before = queues.sh("tc qdisc show dev q0")
    channel = begun(queues)
    assert channel.ask(f"set {QDISC} value=mq%20bfifo")["status"] == "applied"
    channel.kill()
    queues.settled()
    assert queues.sh("tc qdisc show dev q0") == before


def test_a_queue_that_another_program_changes_is_drift_and_a_conflict(queues):
    channel = begun(queues)
    assert channel.ask(f"set {QDISC} value=mq%20pfifo")["status"] == "applied"
    queues.sh("tc qdisc replace dev q0 parent 6e6c:2 handle 9: pfifo limit 7")
    (drift, _) = channel.ask_all("verify", "verified")
    assert (drift["expected"], drift["found"]) == ("mq pfifo", "mq mixed")
    assert channel.ask_all("revert", "reverted_all")[0]["status"] == "conflict"
    assert "limit 7p" in queues.sh(LEAVES)
    queues.sh("tc qdisc del dev q0 root")


def test_queues_that_another_program_has_set_are_left_alone(queues):
    queues.sh("tc qdisc add dev q0 root handle 1: mq")
    answer = begun(queues).ask(f"set {QDISC} value=mq%20pfifo")
    assert (answer["status"], answer["old"]) == ("unsupported", "mq")
    queues.sh("tc qdisc del dev q0 root")


def test_an_interrupted_write_is_recovered(queues):
    """The root is there and its queues are not: its handle tells that it is netlab's."""
    before = queues.sh("tc qdisc show dev q0")
    channel = begun(queues)
    assert channel.ask(f"set {QDISC} value=mq%20pfifo")["status"] == "applied"
    channel.kill_both()
    (journal,) = queues.journals()
    lines = journal.read_text().splitlines(keepends=True)
    assert " wrote n=" in lines[-1]
    journal.write_text("".join(lines[:-1]))
    queues.sh("tc qdisc del dev q0 parent 6e6c:3")
    again = queues.tune()
    assert again.ask_all("recover", "reverted_all")[0]["status"] == "restored"
    assert queues.sh("tc qdisc show dev q0") == before


def test_one_queue_is_not_enough_for_mq_and_the_plan_says_so(queues):
    queues.sh("ip link add one numtxqueues 1 type veth peer name two && ip link set one up")
    answer = queues.tune().ask("resolve knob=qdisc interface=one value=mq%20pfifo")
    assert not answer["supported"]
    assert answer["reason"] == "mq needs an interface with several transmit queues"
    queues.sh("ip link del one")


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("fq nopacing limit 10000 flow_limit 200", "fq flow_limit 200 nopacing"),
        ("mq fq maxrate 2000000000", "mq fq maxrate 2000000000"),
    ],
)
def test_host_and_model_write_parameters_alike(queues, value, resolved):
    line = f"resolve {QDISC} value={value.replace(' ', '%20')}"
    assert queues.tune().ask(line)["value"] == resolved
    assert Knob(kind="qdisc", value=value, source="a guide").value == resolved


@pytest.mark.parametrize(
    "value", ["fq%20limit", "pfifo%20limit%203", "mq%20mq", "fq%20maxrate%209"]
)
def test_other_parameters_are_bad_requests(queues, value):
    assert begun(queues).ask(f"set {QDISC} value={value}")["code"] == "bad_request"
