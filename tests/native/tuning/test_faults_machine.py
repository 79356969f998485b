"""Any call fails, any process is killed: a knob has its original value, or is in a journal.

The machine sets, reverts, renames interfaces, kills processes and recovers, while another program
sets the same knobs and calls of one kind or several fail. It compares the host with its state at
the start, or the other program's last value, and with the journals."""

from __future__ import annotations

import contextlib
import errno

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)
from native.tuning.conftest import Namespace
from native.tuning.faults import CALLS, Faults, missing

KNOBS = {
    ("sysctl", "net.ipv4.tcp_rmem", ""): ["5000 50000 500000", "6000 60000 600000", "7000 oops"],
    ("sysctl", "net.ipv4.tcp_sack", ""): ["0", "1"],
    ("mtu", "", "v0"): ["5001", "99999", "9000"],
    ("txqueuelen", "", "v0"): ["5003", "5004"],
    ("feature", "tx-checksum", "v0"): ["off", "on"],
    ("feature", "tso", "v0"): ["off"],
    ("defer", "gro_flush_timeout", "v0"): ["52429", "7"],
    ("offload", "gso_max_size", "v0"): ["50005", "150006", "600000"],
    ("qdisc", "", "v0"): ["pfifo", "pfifo_fast"],
}
FOREIGN = {
    ("sysctl", "net.ipv4.tcp_rmem", ""): ("sysctl -qw net.ipv4.tcp_rmem='{}'", "8000 80000 800000"),
    ("mtu", "", "v0"): ("ip link set {name} mtu {}", "8001"),
    ("txqueuelen", "", "v0"): ("ip link set {name} txqueuelen {}", "8003"),
    ("offload", "gso_max_size", "v0"): ("ip link set {name} gso_max_size {}", "80005"),
    ("qdisc", "", "v0"): ("tc qdisc replace dev {name} root {}", "bfifo"),
}
"""Command of another program, and its value: none of netlab's, and no original."""
ERRORS = [errno.EMFILE, errno.ENOMEM, errno.EIO, errno.ENOSPC, errno.EINVAL, errno.EBUSY]
NAMES = ("v0", "renamed0")
FAULT = st.none() | st.tuples(
    st.sampled_from([(call,) for call in CALLS] + [tuple(CALLS), ("open", "socket", "pipe")]),
    st.integers(0, 6),
    st.sampled_from([1, 2, -1]),
    st.sampled_from(ERRORS),
)
"""Calls, how many to skip, how many to fail, and the error."""


class FaultMachine(RuleBasedStateMachine):
    """One host, one controller that may die, and calls that fail."""

    make, faults = None, None

    @initialize()
    def start(self):
        self.namespace = self.make()
        self.channel, self.begun, self.name = None, False, "v0"
        self.before: set[tuple[str, str, str]] = set()
        self.first = self.state()

    def state(self):
        """Value of every knob, read by other means than netlab's."""
        lines = self.namespace.sh(
            "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_sack;"
            f"cd /sys/class/net/{self.name}; cat mtu tx_queue_len;"
            f"ethtool -k {self.name} | grep -e ^tx-checksumming -e ^tcp-seg;"
            f"cat gro_flush_timeout; ip -d link show {self.name} | grep -o 'gso_max_size [0-9]*';"
            f"tc qdisc show dev {self.name} root | cut -d' ' -f2"
        ).splitlines()
        return dict(zip(KNOBS, (" ".join(line.split()) for line in lines), strict=True))

    def differing(self):
        now = self.state()
        return {knob for knob in KNOBS if now[knob] != self.first[knob]}

    def kept(self):
        """Knobs in the journals; an interface under either name."""
        found = missing(self.namespace.journals())
        return {(k, n, "v0" if i in NAMES else i) for k, n, i in found}

    def check(self, *, clean=False):
        """The promise; `clean`: netlab reported a complete revert of this session."""
        differing = self.differing()
        assert differing <= self.kept()
        if clean:
            assert differing <= self.before

    def ask_all(self, line, final):
        """The answers; None if the process ended instead."""
        try:
            return self.channel.ask_all(line, final)
        except (EOFError, OSError):
            self.lost()
            return None

    def lost(self):
        """The process ended by itself: out of memory for an answer, for example."""
        self.channel.process.wait(timeout=30)
        self.channel, self.begun = None, False
        self.namespace.settled()
        self.check()

    def session(self):
        """True if a session is open; opens one if the failures allow it."""
        if self.channel is None:
            self.channel = self.namespace.tune(ready=False)
            try:
                ready = self.channel.receive()
            except EOFError:
                self.lost()
                return False
            if ready["event"] != "ready":
                assert self.channel.process.wait(timeout=30) == 1
                self.channel = None
                return False
        if not self.begun:
            self.before = self.kept()
            answers = self.ask_all("begin", "begun")
            self.begun = answers is not None and answers[-1]["event"] == "begun"
        return self.begun

    def arm(self, fault):
        """Let calls fail from here on; None: no call fails."""
        self.faults.disarm()
        if fault is not None:
            calls, skip, count, error = fault
            self.faults.arm(*calls, skip=skip, count=count, error=error)

    @rule(fault=FAULT)
    def begin(self, fault):
        self.arm(fault)
        self.session()
        self.check()

    @rule(
        fault=FAULT,
        what=st.lists(
            st.tuples(st.sampled_from(sorted(KNOBS)), st.integers(0, 2)), min_size=1, max_size=4
        ),
    )
    def set(self, fault, what):
        self.arm(None)
        if self.channel is None:
            self.session()
        self.arm(fault)
        for (kind, name, interface), which in what:
            if not self.session():
                return
            values = KNOBS[kind, name, interface]
            value = values[which % len(values)].replace(" ", "%20")
            words = [f"knob={kind}", name and f"name={name}"]
            words.append(interface and f"interface={self.name}")
            answers = self.ask_all(" ".join(["set", *filter(None, words), f"value={value}"]), "set")
            if answers and answers[-1]["event"] == "error":
                self.begun = answers[-1]["code"] not in ("timeout", "refused")
        self.check()

    @rule(knob=st.sampled_from(sorted(FOREIGN)))
    def another_program_sets(self, knob):
        command, value = FOREIGN[knob]
        self.namespace.sh(command.format(value, name=self.name))
        self.first[knob] = self.state()[knob]

    @precondition(lambda self: self.begun)
    @rule(fault=FAULT, how=st.sampled_from(["revert", "end"]))
    def revert(self, fault, how):
        self.arm(fault)
        final = {"revert": "reverted_all", "end": "ended"}[how]
        answers = self.ask_all(how, final)
        if answers is None:
            return
        last = answers[-1]
        if last["event"] == "error":
            self.begun = False
            self.namespace.settled()
        elif how == "end":
            self.begun = False
        self.check(clean=last["event"] == final and last["absent"] == last["failed"] == 0)

    @precondition(lambda self: self.channel is not None)
    @rule(fault=FAULT)
    def end_of_input(self, fault):
        self.arm(fault)
        code = self.channel.close()
        self.channel, self.begun = None, False
        self.namespace.settled()
        self.check(clean=code == 0)

    @precondition(lambda self: self.begun)
    @rule(fault=FAULT, both=st.booleans())
    def kill(self, fault, both):
        self.arm(fault)
        if both:
            with contextlib.suppress(AssertionError):  # its guard may be dead already
                self.channel.kill(19)
                self.channel.kill_guard()
        self.channel.kill()
        self.channel, self.begun = None, False
        self.namespace.settled()
        self.check()

    @rule()
    def rename(self):
        to = NAMES[1 - NAMES.index(self.name)]
        self.namespace.sh(
            f"ip link set {self.name} down; ip link set {self.name} name {to}; ip link set {to} up"
        )
        self.name = to

    @rule(fault=FAULT)
    def recover(self, fault):
        self.arm(fault)
        if self.channel is not None:
            self.channel.close()
            self.namespace.settled()
        self.begun = False
        self.channel = self.namespace.tune(ready=False)
        try:
            ready = self.channel.receive()
            answers = self.ask_all("recover", "reverted_all") if ready["event"] == "ready" else None
        except EOFError:
            answers = None
        if self.channel is not None:
            code = self.channel.close()
            self.channel = None
            self.before = set()
            self.check(clean=code == 0 and answers is not None)
        self.check()

    def teardown(self):
        if not hasattr(self, "first"):
            return
        self.faults.disarm()
        try:
            if self.channel is not None:
                self.channel.close()
            self.namespace.settled()
            channel = self.namespace.tune()
            last = channel.ask_all("recover", "reverted_all")[-1]
            assert (last["absent"], last["failed"]) == (0, 0)
            assert channel.close() == 0
            assert self.differing() == set()
            assert self.namespace.journals() == []
        finally:
            self.namespace.remove()


@pytest.mark.timeout(300)
def test_a_knob_is_restored_or_a_journal_has_it(tune_build, tmp_path):
    faults = Faults(tmp_path / "faults")

    def make(_machine):
        namespace = Namespace(tune_build / "tune_faulty")
        namespace.prefix = faults.environment
        return namespace

    run_state_machine_as_test(
        type("Machine", (FaultMachine,), {"make": make, "faults": faults}),
        settings=settings(
            max_examples=30,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
