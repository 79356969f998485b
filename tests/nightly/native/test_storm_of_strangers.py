"""Connections of strangers beside a run do not change what it measures."""

from __future__ import annotations

import contextlib
import socket
import statistics
import threading
import time
from collections.abc import Iterator

import pytest

STREAMS, PACING_BPS = 200, 500_000
WINDOW_MS = 3000
RATE_HZ = 1000


@contextlib.contextmanager
def storm(port: int) -> Iterator[list[socket.socket]]:
    """Connect to a port at a rate; each connection stays for half a second and stays silent."""
    ended, tried = threading.Event(), []

    def connect() -> None:
        began = time.monotonic()
        while not ended.wait(0.005):
            while len(tried) < (time.monotonic() - began) * RATE_HZ:
                tried.append(socket.socket())
                tried[-1].setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    tried[-1].connect(("127.0.0.1", port))
                if len(tried) > RATE_HZ // 2:
                    tried[-1 - RATE_HZ // 2].close()

    thread = threading.Thread(target=connect)
    thread.start()
    try:
        yield tried
    finally:
        ended.set()
        thread.join()
        for stranger in tried:
            stranger.close()


def goodput_MBps(agent, run: int, *, stormy: bool) -> tuple[float, dict]:
    options = {"run": run, "streams": STREAMS, "window_ms": WINDOW_MS, "record_B": 65536}
    options["buffer_B"] = 131_072  # a paced stream drains no faster than it is paced
    port, token = agent.sink(**options)
    with storm(port) if stormy else contextlib.nullcontext(()) as strangers:
        while stormy and len(strangers) < RATE_HZ // 5:
            time.sleep(0.01)
        agent.gen(port, token, **options, pacing_Bps=PACING_BPS, tail_ms=100)
        results = [agent.receive(timeout_s=20) for _ in range(2)]
    (sink,) = [answer for answer in results if answer["event"] == "sink_result"]
    assert sink["status"] == "ok" and sink["accepted"] == STREAMS
    if stormy:
        assert len(strangers) >= RATE_HZ * WINDOW_MS / 1000
    window = sink["window"]
    return window["bytes"] * 1e3 / (window["t1_ns"] - window["t0_ns"]), sink


@pytest.mark.timeout(120)
def test_a_storm_of_connections_changes_goodput_by_less_than_5_percent(agent):
    quiet, stormy, strangers = [], [], 0
    for pair in range(3):
        quiet.append(goodput_MBps(agent, 2 * pair + 1, stormy=False)[0])
        value, sink = goodput_MBps(agent, 2 * pair + 2, stormy=True)
        stormy.append(value)
        strangers += sum(sink["rejected"].values())
    change = statistics.median(stormy) / statistics.median(quiet) - 1
    assert abs(change) < 0.05, (quiet, stormy)
    assert strangers > 0, "no stranger reached the sink"
