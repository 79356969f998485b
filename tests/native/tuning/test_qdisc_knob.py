"""Queueing disciplines of the queues of an interface, and their parameters."""

from __future__ import annotations

import pytest
from native.tuning.conftest import begun

from netlab.tuning.knobs import Knob

QDISC = "knob=qdisc interface=q0"
LEAVES = "tc qdisc show dev q0 | grep parent | sort"


def test_the_default_is_reverted_before_a_discipline_for_which_the_kernel_takes_it(
    pretended, machine
):
    machine.write("sys/net/core/default_qdisc", "fq_codel")
    channel = begun(pretended)
    for words in ("sysctl name=net.core.default_qdisc value=fq", "qdisc interface=v0 value=pfifo"):
        assert channel.ask(f"set knob={words}")["status"] == "applied"
    answers = channel.ask_all("revert", "reverted_all")[:-1]
    assert [(answer["knob"], answer["status"]) for answer in answers] == [
        ("sysctl", "restored"),
        ("qdisc", "restored"),
    ]


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


def test_a_queue_that_another_program_changes_is_drift_and_a_conflict(queues):
    channel = begun(queues, f"{QDISC} value=mq%20pfifo")
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
    channel = begun(queues, f"{QDISC} value=mq%20pfifo")
    channel.kill_both()
    (journal,) = queues.journals()
    line = journal.read_text()
    assert " readback=" in line
    journal.write_text(line.split(" readback=")[0] + " wanted=mq%20pfifo\n")
    queues.sh("tc qdisc del dev q0 parent 6e6c:3")
    again = queues.tune()
    assert again.ask_all("recover", "reverted_all")[0]["status"] == "restored"
    assert queues.sh("tc qdisc show dev q0") == before


def test_other_queues_below_the_kernels_own_mq_are_not_restored(namespace):
    """net.core.default_qdisc has changed since; the second attempt leaves what it finds."""
    namespace.sh("ip tuntap add t0 mode tap multi_queue && ip link set t0 up")
    show = "tc qdisc show dev t0 | cut -d' ' -f2,3"
    before = namespace.sh(show)
    assert before.startswith("mq 0:\n") and before.count("\n") > 1
    kind = before.splitlines()[1].split()[0]
    knob = "knob=qdisc interface=t0"
    channel = begun(namespace)
    assert channel.ask(f"set {knob} value=bfifo")["old"] == "mq"
    assert channel.ask_all("revert", "reverted_all")[0]["status"] == "restored"
    assert namespace.sh(show) == before
    assert channel.ask(f"set {knob} value=bfifo")["status"] == "applied"
    channel.kill_both()
    (journal,) = namespace.journals()
    line = journal.read_text()
    assert f" old=0%20mq%20{kind} " in line
    journal.write_text(line.replace(f"%20{kind} ", "%20sfq "))
    again = namespace.tune()
    (answer, total) = again.ask_all("recover", "reverted_all")
    assert (answer["status"], total["failed"]) == ("failed", 1)
    reason = f"the kernel's own choice (net.core.default_qdisc) was mq sfq, and is mq {kind} now"
    assert reason in answer["reason"]
    assert again.ask_all("recover", "reverted_all")[0]["status"] == "conflict"
    assert namespace.journals() == []


def test_one_queue_is_not_enough_for_mq_and_the_plan_says_so(queues):
    queues.sh("ip link add one numtxqueues 1 type veth peer name two && ip link set one up")
    answer = queues.tune().ask("read knob=qdisc interface=one value=mq%20pfifo")
    assert not answer["supported"]
    assert answer["reason"] == "mq needs an interface with several transmit queues"
    queues.sh("ip link del one")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("fq nopacing limit 10000 flow_limit 200", "fq flow_limit 200 nopacing"),
        ("mq fq maxrate 2000000000", "mq fq maxrate 2000000000"),
    ],
)
def test_parameters_are_in_the_order_in_which_a_host_reads_them_back(value, text):
    assert Knob(kind="qdisc", value=value, source="a guide").value == text


@pytest.mark.parametrize(
    "value", ["fq%20limit", "pfifo%20limit%203", "mq%20mq", "fq%20maxrate%209", "tbf"]
)
def test_other_parameters_are_refused(queues, value):
    answer = begun(queues).ask(f"set {QDISC} value={value}")
    assert (answer["status"], answer["readback"]) == ("refused", answer["old"])
