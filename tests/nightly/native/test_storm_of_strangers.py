"""Connections of strangers beside a run do not change what it measures."""

from __future__ import annotations

import contextlib
import socket
import statistics
import threading
import time

import pytest

STREAMS, PACING_BPS = 200, 500_000
WINDOW_MS = 3000
RATE_HZ = 1000


class Storm:
    """Connects to a port at a rate; each connection stays for half a second and stays silent."""

    def __init__(self, port: int):
        self._port, self._stop = port, threading.Event()
        self.tried = self.accepted = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Storm:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        began, waiting = time.monotonic(), []
        while not self._stop.is_set():
            while self.tried < (time.monotonic() - began) * RATE_HZ:
                stranger = socket.socket()
                stranger.setblocking(False)
                self.tried += 1
                with contextlib.suppress(BlockingIOError):
                    stranger.connect(("127.0.0.1", self._port))
                waiting.append((time.monotonic(), stranger))
            while waiting and waiting[0][0] < time.monotonic() - 0.5:
                _, stranger = waiting.pop(0)
                self.accepted += stranger.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0
                stranger.close()
            time.sleep(0.005)
        for _, stranger in waiting:
            stranger.close()


def goodput_MBps(agent, run: int, *, storm: bool) -> tuple[float, dict]:
    options = {"run": run, "streams": STREAMS, "window_ms": WINDOW_MS, "record_B": 65536}
    options["buffer_B"] = 131_072  # a paced stream drains no faster than it is paced
    port, token = agent.sink(**options)
    with Storm(port) if storm else contextlib.nullcontext() as strangers:
        if storm:
            while strangers.tried < RATE_HZ // 5:
                time.sleep(0.01)
        agent.gen(port, token, **options, pacing_Bps=PACING_BPS, tail_ms=100)
        results = [agent.receive(timeout_s=20) for _ in range(2)]
    (sink,) = [answer for answer in results if answer["event"] == "sink_result"]
    assert sink["status"] == "ok" and sink["accepted"] == STREAMS
    if storm:
        assert strangers.tried >= RATE_HZ * WINDOW_MS / 1000
    window = sink["window"]
    return window["bytes"] * 1e3 / (window["t1_ns"] - window["t0_ns"]), sink


@pytest.mark.timeout(120)
def test_a_storm_of_connections_changes_goodput_by_less_than_5_percent(agent):
    quiet, stormy, strangers = [], [], 0
    for pair in range(3):
        quiet.append(goodput_MBps(agent, 2 * pair + 1, storm=False)[0])
        value, sink = goodput_MBps(agent, 2 * pair + 2, storm=True)
        stormy.append(value)
        strangers += sum(sink["rejected"].values())
    change = statistics.median(stormy) / statistics.median(quiet) - 1
    assert abs(change) < 0.05, (quiet, stormy)
    assert strangers > 0, "no stranger reached the sink"
