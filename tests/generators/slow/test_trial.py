"""One run by a tool without intervals: client and server, metered, and its counts audited."""

from __future__ import annotations

import random
import socket

import pytest
from generators.pretender import MOVED_B, metering, pretender
from measure.scripted import request

from netlab.errors import RunError
from netlab.generators.tools import Tool
from netlab.generators.trial import TrialResult, run_trial
from netlab.measure.exchange import RunEnd

REQUEST = request(streams=1, record_length_B=4096, force_buffer=False, warmup_ms=0)
CARRIED_B = 7_010_000
"""What the interfaces carry: the tool's bytes, and headers."""


def made(host, tool: Tool, *, carried_B: int = CARRIED_B, **more) -> TrialResult:
    agents = metering(carried_B), metering(carried_B)
    ends = [
        RunEnd(name, agent, "127.0.0.1", "lo", 0, 0)
        for name, agent in zip(("left", "right"), agents, strict=True)
    ]
    hosts = {"left": host, "right": host}
    how = {"mtu_B": 1500, "with_controller": ("left", "right"), **more}
    return run_trial(tool, *ends, REQUEST, hosts=hosts, versions={}, **how)


def test_the_whole_transfer_is_the_window_of_the_receivers_count(host):
    result = made(host, pretender())
    sink = result.outcome.flows[0].sink
    assert (sink["total_bytes"], sink["window"]["bytes"]) == (MOVED_B, MOVED_B)
    assert sink["window"]["t1_ns"] - sink["window"]["t0_ns"] == 1_000_000_000
    assert result.outcome.flows[0].gen["total_bytes"] == MOVED_B
    assert (result.ledger.problems, result.ledger.surplus, result.ledger.error_B) == ([], [], 0)
    meters = [sink["meter"], result.outcome.flows[0].gen["meter"]]
    assert sum(one["total"]["process"]["user_us"] for one in meters) > 0


def test_a_server_that_stays_is_terminated_after_its_result(host):
    result = made(host, pretender(stays_s=60, server_stays=True))
    assert result.outcome.flows[0].sink["total_bytes"] == MOVED_B


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"client": ("-c", "raise SystemExit('no route')")}, "client on here: .* 1: no route"),
        # after its result: time.sleep refuses it
        ({"stays_s": -1}, "server on here: exit status 1"),
    ],
)
def test_an_end_that_fails_is_a_failed_run_with_its_output(host, how, words):
    with pytest.raises(RunError, match=f"pretender's {words}"):
        made(host, pretender(**how))


def test_ports_that_are_all_in_use_are_a_failed_run(host):
    class Same(random.Random):
        def randrange(self, *_range) -> int:
            return taken

    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with pytest.raises(RunError, match="right: 8 ports drawn between 10000 and 30000"):
            made(host, pretender(), ports=Same())


def test_counts_that_disagree_leave_the_ledger_open_and_much_more_is_a_surplus(host):
    result = made(host, pretender(), carried_B=6_900_000)
    assert any("the sink's interface received 6900000 B" in text for text in result.ledger.problems)
    result = made(host, pretender(sent_B=6_999_000))
    assert any("the receiver read 7000000 B" in text for text in result.ledger.problems)
    assert result.ledger.error_B == 1000
    result = made(host, pretender(), carried_B=9_000_000)
    assert result.ledger.problems == [] and len(result.ledger.surplus) >= 1
