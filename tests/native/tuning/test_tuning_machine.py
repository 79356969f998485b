"""After any sequence of settings, foreign changes and kills no value of netlab's stays.

Originals, netlab's values and the foreigner's come from three disjoint sets, so that the value at
the end identifies its writer."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

RMEM = ("sysctl", "net.ipv4.tcp_rmem")
SYN = ("sysctl", "net.ipv4.tcp_max_syn_backlog")
MTU = ("mtu", "v0")
QUEUE = ("txqueuelen", "v0")
GSO = ("gso_max_size", "v0")
QDISC = ("qdisc", "v0")
KNOBS = [RMEM, SYN, MTU, QUEUE, GSO, QDISC]
OURS = {
    RMEM: ["5000 50000 500000", "6000 60000 600000", "7000 70000 oops"],
    SYN: ["501", "502"],
    MTU: ["5001", "5002", "99999"],
    QUEUE: ["5003", "5004"],
    GSO: ["50005", "150006", "600000"],
    QDISC: ["pfifo", "pfifo_fast"],
}
FOREIGN = {
    RMEM: ["8000 80000 800000", "9000 90000 900000"],
    SYN: ["801", "802"],
    MTU: ["8001", "8002"],
    QUEUE: ["8003", "8004"],
    GSO: ["80005", "80006"],
    QDISC: ["bfifo", "mq"],
}


class TuningMachine(RuleBasedStateMachine):
    """One host, one controller that may die, and a foreign process."""

    namespace = None

    @initialize()
    def start(self):
        self.first = {knob: self.value(knob) for knob in KNOBS}
        self.foreign: dict[tuple[str, str], str] = {}
        self.channel = None
        self.begun = False

    def value(self, knob, value=None):
        kind, name = knob
        if kind == "sysctl":
            return self.namespace.sysctl(name, value)
        if knob == QDISC:
            return self.namespace.qdisc("default" if value == "noqueue" else value, name)
        if knob == GSO:
            if value is not None:
                self.namespace.set_size(kind, int(value), name)
            return str(self.namespace.sizes(name)[kind])
        return str(self.namespace.link(kind, None if value is None else int(value), name))

    def words(self, knob):
        kind, name = knob
        if knob == GSO:
            return f"knob=offload name={kind} interface={name}"
        return f"knob={kind} " + (f"name={name}" if kind == "sysctl" else f"interface={name}")

    def session(self):
        """The session that is open, or a new one, after recovery as a controller does it."""
        if self.channel is None:
            self.channel = self.namespace.tune()
            if self.channel.ready["stale"]:
                answers = self.channel.ask_all("recover", "reverted_all")
                assert answers[-1]["event"] == "reverted_all" and answers[-1]["failed"] == 0
                self.check()
        if not self.begun:
            assert self.channel.ask("begin") == {"event": "begun"}
            self.begun = True
        return self.channel

    def request(self, knob, which):
        value = OURS[knob][which % len(OURS[knob])].replace(" ", "%20")
        return f"set {self.words(knob)} value={value}"

    @rule(what=st.lists(st.tuples(st.sampled_from(KNOBS), st.integers(0, 2)), min_size=1))
    def set(self, what):
        for knob, which in what:
            answer = self.session().ask(self.request(knob, which))
            assert answer["event"] == "set" and answer["readback"] == self.value(knob)

    @rule(knob=st.sampled_from(KNOBS), which=st.integers(0, 1))
    def somebody_else_sets(self, knob, which):
        self.foreign[knob] = self.value(knob, FOREIGN[knob][which])

    @rule(how=st.sampled_from(["verify", "revert", "end", "end of input"]))
    def go_on(self, how):
        channel = self.session()
        if how == "verify":
            assert channel.ask_all("verify", "verified")[-1]["event"] == "verified"
            return
        if how == "revert":
            assert channel.ask_all("revert", "reverted_all")[-1]["failed"] == 0
        elif how == "end":
            assert channel.ask_all("end", "ended")[-1]["failed"] == 0
            self.begun = False
        else:
            assert channel.close() == 0
            self.channel, self.begun = None, False
        self.check()

    @rule()
    def kill_the_guard(self):
        self.session().kill_guard()

    @rule(what=st.lists(st.tuples(st.sampled_from(KNOBS), st.just(0)), max_size=4))
    def kill_the_process_as_it_works(self, what):
        channel = self.session()
        assert channel.ask("keepalive") == {"event": "alive"}  # the guard lives, too
        channel.send_bytes("".join(f"{self.request(*one)}\n" for one in what).encode())
        channel.kill()
        self.channel, self.begun = None, False
        self.namespace.settled()
        self.check()

    @rule()
    def kill_both(self):
        channel = self.session()
        assert channel.ask("keepalive") == {"event": "alive"}
        channel.kill_both()
        self.channel, self.begun = None, False
        self.namespace.settled()

    def check(self):
        """Every knob is the foreigner's last value, or the original."""
        for knob in KNOBS:
            assert self.value(knob) == self.foreign.get(knob, self.first[knob]), knob

    def teardown(self):
        if not hasattr(self, "first"):
            return
        if self.channel is not None:
            self.channel.close()
        self.namespace.settled()
        channel = self.namespace.tune()
        try:
            assert channel.ask_all("recover", "reverted_all")[-1]["failed"] == 0
            self.check()
            assert self.namespace.journals() == []
        finally:
            channel.close()
            self.namespace.channels.clear()
            for knob in KNOBS:
                self.value(knob, self.first[knob])


@pytest.mark.timeout(120)
def test_no_value_of_netlabs_stays_behind(namespace):
    machine = type("Machine", (TuningMachine,), {"namespace": namespace})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=30,
            stateful_step_count=20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
