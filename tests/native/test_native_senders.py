"""Several gens that share the streams of one sink: which streams are whose, and how they end."""

from __future__ import annotations

import json
import subprocess

import pytest

TOKEN = "5a" * 16
PATTERN = (0, 1, 0, 0, 1)
"""Sender of each stream of a turn."""


def gens(
    gensink, folder, port: int, streams: int, *, senders: tuple[int, ...] = (0, 1), **options: int
) -> list[subprocess.Popen]:
    """Gens that share the streams by the pattern."""
    token = folder / "token"
    token.write_text(TOKEN)
    started = []
    for sender in senders:
        own = [int(of == sender) for of in PATTERN]
        words = {"to": "127.0.0.1", "port": port, "run": 1, "token": token, "sender": sender}
        words |= {"own_streams": ",".join(map(str, own)), "streams": streams * sum(own) // len(own)}
        argv = [f"--{name}={value}" for name, value in (words | options).items()]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        started.append(subprocess.Popen((gensink, "gen", "--json", *argv), **pipes))
    return started


@pytest.mark.parametrize("turns", [1, 3])
def test_each_gen_has_its_own_streams_of_the_sink(agent, gensink, tmp_path, turns):
    """The gens are paced apart, so that the sink's streams show whose they are."""
    streams, times = turns * len(PATTERN), {"warmup_ms": 100, "window_ms": 600}
    port, _ = agent.sink(streams=streams, senders=2, token=TOKEN, **times)
    started = gens(gensink, tmp_path, port, streams, **times, tail_ms=60)
    texts = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0], texts
    sent = [json.loads(out.splitlines()[-1]) for out, _ in texts]
    sink = agent.receive_results(1)["sink_result", 1]
    assert sink["status"] == "ok" and sink["accepted"] == streams
    assert sink["total_bytes"] == sum(gen["total_bytes"] for gen in sent)
    left = [iter(gen["per_stream"]) for gen in sent]
    for row in sink["per_stream"]:
        own = next(left[PATTERN[row["stream"] % len(PATTERN)]])
        assert row["bytes"] == own["bytes"]
    assert all(next(rest, None) is None for rest in left)


def test_a_sink_waits_for_the_streams_of_every_sender(agent, gensink, tmp_path):
    port, _ = agent.sink(streams=5, senders=2, token=TOKEN, window_ms=100, accept_ms=1000)
    (one,) = gens(gensink, tmp_path, port, 5, senders=(0,), window_ms=100, connect_ms=20_000)
    one.communicate(timeout=60)
    sink = agent.receive_results(1)["sink_result", 1]
    assert one.returncode != 0
    assert sink["status"] == "timeout" and "3 of 5 streams arrived" in sink["message"]
