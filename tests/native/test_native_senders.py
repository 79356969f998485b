"""Several gens that share the streams of one sink: which streams are whose, and how they end."""

from __future__ import annotations

import json
import socket
import subprocess

import pytest

TOKEN = "5a" * 16
LET_IN = {"from": "127.0.0.1", "also_from": "127.0.0.1"}
PATTERN = (0, 1, 0, 0, 1)
"""Sender of each stream of a turn."""


def gens(
    gensink,
    folder,
    port: int,
    streams: int,
    *,
    senders: tuple[int, ...] = (0, 1),
    **options: object,
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
    """Those of the sink carry the bytes of theirs, in the order of the pattern."""
    streams, times = turns * len(PATTERN), {"warmup_ms": 100, "window_ms": 600}
    port, _ = agent.sink(streams=streams, **LET_IN, token=TOKEN, **times)
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
    port, _ = agent.sink(
        streams=5,
        **{"from": "127.0.0.1"},
        also_from="127.0.0.1",
        token=TOKEN,
        window_ms=100,
        accept_ms=1000,
    )
    (one,) = gens(gensink, tmp_path, port, 5, senders=(0,), window_ms=100, connect_ms=20_000)
    one.communicate(timeout=60)
    sink = agent.receive_results(1)["sink_result", 1]
    assert one.returncode != 0
    assert sink["status"] == "timeout" and "3 of 5 streams arrived" in sink["message"]


def test_a_stranger_is_closed_at_once_and_every_sender_is_let_in(agent, gensink, tmp_path):
    """Of 127.0.0.0/8 the gens come from two addresses, and a stranger from a third."""
    own = {"from": "127.0.0.2", "also_from": "127.0.0.3"}
    port, _ = agent.sink(streams=5, **own, token=TOKEN, window_ms=100, accept_ms=20_000)
    with socket.create_connection(("127.0.0.1", port), source_address=("127.0.0.4", 0)) as peer:
        assert peer.recv(1) == b""
    started = [
        *gens(gensink, tmp_path, port, 5, senders=(0,), window_ms=100, **{"from": "127.0.0.2"}),
        *gens(gensink, tmp_path, port, 5, senders=(1,), window_ms=100, **{"from": "127.0.0.3"}),
    ]
    for process in started:
        process.communicate(timeout=60)
    sink = agent.receive_results(1)["sink_result", 1]
    assert sink["accepted"] == 5 and sink["rejected"]["address"] == 1
