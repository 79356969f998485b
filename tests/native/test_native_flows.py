"""Streams that start, end and are paced by a list: when their bytes flow, and that counts agree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from native.ledger import assert_ledger_closes

STARTS_MS, ENDS_MS, WINDOW_MS = (0, 400, 800), (600, 0, 0), 1200
# what a socket takes at once, before any pace
SOCKET_B = 2_000_000


def moving_ms(end: dict) -> list[np.ndarray]:
    """Times of the samples in which each stream moved bytes at an end, ms after the start."""
    t_ms = (np.array(end["samples"]["t_ns"]) - end["t_go_ns"]) / 1e6
    return [t_ms[1:][np.diff(row) > 0] for row in end["samples"]["bytes"]]


def span_s(row: dict) -> float:
    return (row["t_end_ns"] - row["t_first_ns"]) / 1e9


def dealt(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


@pytest.mark.parametrize("engine", ["blocking", "epoll"])
@pytest.mark.parametrize("send", ["copy", "zerocopy"])
def test_streams_move_bytes_from_their_start_to_their_end_alone(agent, engine, send):
    options = {"engine": engine, "send": send, "streams": 6, "interval_ms": 20, "warmup_ms": 100}
    options |= {"starts_ms": dealt(STARTS_MS), "ends_ms": dealt(ENDS_MS), "window_ms": WINDOW_MS}
    sink, gen = agent.transfer(**options, pacing_Bps=20_000_000, buffer_B=262_144)
    assert [sink["status"], gen["status"]] == ["ok", "ok"], (sink["message"], gen["message"])
    assert_ledger_closes(sink, gen)
    whole_ms = 100 + WINDOW_MS
    # late and less at both ends where other programs have the processors; never early nor more
    for end in (sink, gen):
        for stream, times_ms in enumerate(moving_ms(end)):
            # the clock is read before the counters of a sample
            assert (times_ms >= STARTS_MS[stream % 3] - 100).all()
    for row in gen["per_stream"]:
        start_ms, end_ms = STARTS_MS[row["stream"] % 3], ENDS_MS[row["stream"] % 3] or whole_ms
        assert row["t_end_ns"] - gen["t_go_ns"] >= end_ms * 1e6
        assert row["bytes"] < 1.2 * 20e6 * span_s(row) + SOCKET_B
        assert not row["bytes"] or row["t_first_ns"] - gen["t_go_ns"] >= start_ms * 1e6
    assert sum(row["bytes"] > 0 for row in gen["per_stream"]) >= 2


@pytest.mark.parametrize("engine", ["blocking", "epoll"])
def test_a_stream_whose_buffer_is_full_ends_at_its_time(agent, engine):
    """A sink that reads one stream slowly: its sender waits for room when its end comes."""
    options = {"engine": engine, "streams": 2, "window_ms": 800, "interval_ms": 20}
    sink, gen = agent.transfer(**options, ends_ms="0,300", pacings_Bps="0,400000", buffer_B=65_536)
    assert [sink["status"], gen["status"]] == ["ok", "ok"], (sink["message"], gen["message"])
    assert_ledger_closes(sink, gen)
    last_ns = gen["per_stream"][1]["t_end_ns"] - gen["t_go_ns"]
    # long before its 800 ms of window are over; a busy machine takes some of the rest
    assert last_ns >= 300e6
    assert gen["per_stream"][1]["t_end_ns"] < gen["per_stream"][0]["t_end_ns"]


def test_each_stream_has_its_own_pace(agent):
    options = {"streams": 4, "warmup_ms": 200, "window_ms": 1000, "buffer_B": 262_144}
    options |= {"pacings_Bps": "2000000,3*8000000"}
    sink, gen = agent.transfer(**options)
    assert [sink["status"], gen["status"]] == ["ok", "ok"]
    assert [row["pacing_Bps"] for row in gen["per_stream"]] == [2_000_000, *[8_000_000] * 3]
    for row in gen["per_stream"]:
        assert row["bytes"] < 1.2 * row["pacing_Bps"] * span_s(row) + SOCKET_B
    # 12 times as much at their paces, 3 times at one pace
    slow, *fast = (row["bytes"] for row in gen["per_stream"])
    assert sum(fast) > 4 * slow > 0


def test_the_first_stream_may_end_first_and_the_run_ends_as_ever(agent):
    """The sink says on another stream that its window is over."""
    options = {"streams": 3, "window_ms": 500, "ends_ms": "100,200,0", "tail_ms": 20}
    sink, gen = agent.transfer(**options, pacing_Bps=10_000_000)
    assert [sink["status"], gen["status"]] == ["ok", "ok"], (sink["message"], gen["message"])
    *ended, last = (row["t_end_ns"] for row in gen["per_stream"])
    assert max(ended) < last


def test_a_stream_that_ends_without_a_plan_is_an_error(agent):
    """The sink does not know of the end: it must not take it for a plan."""
    sink, _ = agent.transfer(streams=2, window_ms=2000, gen={"ends_ms": "0,200"})
    assert sink["status"] == "error"
    assert "stream 1 ended before the window did" in sink["message"]


def test_streams_are_bound_to_the_ports_of_their_range_run_after_run(agent):
    """Ports of earlier runs are in TIME_WAIT toward the sink's fixed port; others follow."""
    options = {"streams": 4, "window_ms": 30, "source_ports": "3*20000,21000", "source_span": 60}
    options |= {"from": "127.0.0.1", "sink": {"port": 5999}}
    for run in range(1, 9):
        sink, gen = agent.transfer(**options, run=run)
        assert [sink["status"], gen["status"]] == ["ok", "ok"], (sink["message"], gen["message"])
        assert_ledger_closes(sink, gen)
    used = sorted(local_port(line) for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
    waiting = [port for port in used if 20_000 <= port < 22_000]
    assert len(waiting) >= 8 and {port // 1000 for port in waiting} == {20, 21}
    assert all(port % 1000 < 60 for port in waiting)


def local_port(line: str) -> int:
    return int(line.split()[1].partition(":")[2], 16)
