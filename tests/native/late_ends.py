"""How late the ends of a run are."""

from __future__ import annotations

import subprocess

from native.ledger import assert_ledger_closes


def late_ends_ms(agent, streams, runs):
    """Beside four busy loops, after the gen's own end, or that of the sink's window if later."""
    busy = [subprocess.Popen(("sh", "-c", "while :; do :; done")) for _ in range(4)]
    late_ms, sent_bytes = [], []
    try:
        for _ in range(runs):
            sink, gen = agent.transfer(streams=streams, window_ms=100, tail_ms=50)
            assert_ledger_closes(sink, gen)
            sent_bytes.append(gen["total_bytes"])
            end_ns = max(gen["window"]["t0_ns"] + 150_000_000, sink["window"]["t1_ns"])
            late_ms.append((gen["t_last_byte_ns"] - end_ns) / 1e6)
    finally:
        for loop in busy:
            loop.kill()
            loop.wait()
    assert sorted(sent_bytes)[runs // 2] > 0
    return sorted(late_ms)
