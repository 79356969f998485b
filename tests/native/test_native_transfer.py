"""A fixed-byte run is timed by its bytes at any sampling interval."""

from __future__ import annotations

import re
import socket
import statistics
import time
from pathlib import Path

import pytest
from native.agent_peers import PEERS_TOKEN, one_peer
from native.ledger import assert_ledger_closes
from waiting import until

from netlab.measure.transfer_time import transfer_of

INTERVALS_MS = (10, 100, 1000, 60_000)
RATE_BPS = 20_000_000
BYTES = 4_000_000


def test_the_time_of_a_transfer_does_not_depend_on_the_sampling_interval(agent):
    """Pacing makes every transfer last about 0.2 s; a busy machine makes some of them longer."""
    times_s: dict[int, list[float]] = {interval_ms: [] for interval_ms in INTERVALS_MS}
    for _ in range(3):  # interleaved
        for interval_ms in INTERVALS_MS:
            options = {"interval_ms": interval_ms, "pacing_Bps": RATE_BPS, "bytes": BYTES}
            sink, gen = agent.transfer(streams=2, **options)
            assert_ledger_closes(sink, gen)
            timed = transfer_of(gen, sink, one_clock=True)
            times_s[interval_ms].append(timed.seconds)
            # by construction: before the gen's first send, after the sink's last read
            last_ns = max(row["t_last_ns"] for row in sink["per_stream"])
            assert sink["t_last_byte_ns"] == last_ns
            assert timed.seconds == (last_ns - gen["t_first_byte_ns"]) / 1e9
            assert last_ns not in sink["samples"]["t_ns"]
            assert gen["t_let_go_ns"] <= gen["t_first_byte_ns"] <= sink["t_first_byte_ns"]
            for row in sink["per_stream"]:
                assert row["t_first_ns"] <= row["t_last_ns"] <= row["t_end_ns"]
    medians = [statistics.median(times) for times in times_s.values()]
    assert min(medians) > 0.5 * BYTES / RATE_BPS
    # rounded to the interval, the answers would lie 300-fold apart
    assert max(medians) < 3 * min(medians), times_s
    assert min(times_s[60_000]) < 2.0


def is_read(port: int) -> bool:
    """True if what was sent to a port has been acknowledged and read."""
    table = Path("/proc/thread-self/net/tcp").read_text()
    to_read = re.findall(rf": \w+:{port:04X} \S+ \w+ \w+:(\w+)", table)
    to_send = re.findall(rf": \S+ \w+:{port:04X} \w+ (\w+):", table)
    return not any(int(size_B, 16) for size_B in (*to_read, *to_send))


@pytest.mark.parametrize("interval_ms", [10, 60_000])
@pytest.mark.parametrize("receive", ["copy", "discard"])
def test_the_last_byte_is_timed_when_it_is_read_and_not_at_the_streams_end(
    agent, interval_ms, receive
):
    port, _ = agent.sink(token=PEERS_TOKEN, window_ms=0, interval_ms=interval_ms, receive=receive)
    with one_peer(port) as peer:
        before_first_ns = time.monotonic_ns()
        peer.sendall(b"x" * 1000)
        until(lambda: is_read(port))
        time.sleep(0.3)
        before_last_ns = time.monotonic_ns()
        peer.sendall(b"x" * 1000)
        until(lambda: is_read(port))
        time.sleep(0.3)
        before_end_ns = time.monotonic_ns()
        peer.shutdown(socket.SHUT_WR)
        sink = agent.receive()
    (row,) = sink["per_stream"]
    assert sink["status"] == "ok" and row["bytes"] == 2000
    assert before_first_ns <= row["t_first_ns"] < before_last_ns
    assert before_last_ns <= row["t_last_ns"] == sink["t_last_byte_ns"] < before_end_ns
    assert before_end_ns <= row["t_end_ns"]


def test_a_timed_run_has_no_last_byte_of_its_own(agent):
    for end in agent.transfer():
        (row,) = end["per_stream"]
        assert row["t_last_ns"] == 0
        assert end["t_last_byte_ns"] == row["t_end_ns"] > row["t_first_ns"]
