"""Unread answers and large answers: the agent stores little of either."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest


def resident_MiB(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4 / 1024


def test_unread_answers_are_bounded(start_agent):
    """A reader that pauses gets every answer; the agent stores little of them meanwhile."""
    agent, requests = start_agent(), 20_000

    def ask() -> None:
        agent.process.stdin.write(b"meter\n" * requests)
        agent.process.stdin.flush()

    asking = threading.Thread(target=ask)
    asking.start()
    time.sleep(2)
    assert asking.is_alive(), "the agent reads requests without a reader of its answers"
    assert resident_MiB(agent.process.pid) < 24
    for _ in range(requests):
        assert agent.receive()["event"] == "meter"
    asking.join()
    assert agent.ask("ping")["event"] == "pong"


@pytest.mark.timeout(120)
def test_a_large_trace_comes_in_parts(agent):
    options = {"streams": 1000, "interval_ms": 10, "window_ms": 4500, "record_B": 1024}
    options["buffer_B"] = 16_384
    port, token = agent.sink(**options, accept_ms=20_000)
    agent.gen(port, token, **options, trace=1, pacing_Bps=20_000, connect_ms=20_000)
    parts, results = [], {}
    while len(results) < 2:
        answer = agent.receive(timeout_s=40)
        if answer["event"] == "samples":
            parts.append(answer)
        else:
            results[answer["event"]] = answer
    gen = results["gen_result"]
    assert gen["status"] == "ok", gen["message"]
    assert gen["samples"]["parts"] == len(parts) > 5 and gen["trace"] == {}
    assert max(len(part["values"]) for part in parts) <= 65_536
    count = gen["samples"]["count"]
    sizes = dict.fromkeys(("t_ns", "bytes", "rtt_us", "cwnd_segments", "retransmits"), 0)
    for part in parts:
        assert (part["role"], part["first"]) == ("gen", sizes[part["table"]])
        sizes[part["table"]] += len(part["values"])
    assert sizes.pop("t_ns") == count
    assert set(sizes.values()) == {1000 * count}
    last = [value for part in parts if part["table"] == "bytes" for value in part["values"]]
    assert sum(last[count - 1 :: count]) == gen["total_bytes"]
