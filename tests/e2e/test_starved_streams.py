"""Many streams at a short queue: the run says how many had no byte, and is left out."""

from e2e.conftest import run_on_lab
from studies import two_hosts

from netlab.results.store import Store

STREAMS, RATE_MBPS, QUEUE_PACKETS, SECONDS = 40, 1.0, 20, 1.6
ROUNDS = 3
"""A machine may stop the emulator for a whole window, in which no stream has a byte."""


def test_streams_without_a_byte_in_the_window_are_counted_and_flagged(tmp_path, machine_untouched):
    """The link carries three segments of each in the window, and the queue half of one.

    Streams that lose all they have in flight wait for their timeouts, which double.
    """
    emulator = {"with": "netlab", "rate_Mbps": RATE_MBPS, "queue_packets": QUEUE_PACKETS}
    content = two_hosts(
        "crowd",
        {"emulator": emulator},
        {"buffer_B": 4608},
        **{"streams": [STREAMS], "force_buffer": True},
        timing={"rounds": ROUNDS, "seconds": SECONDS, "warmup_s": 0.3, "drain_s": 60},
    )
    done = run_on_lab(tmp_path, content, timeout_s=120)
    store = Store(tmp_path / "r")
    runs, samples = store.runs(), store.intervals()
    assert len(runs) == ROUNDS, done.stderr
    samples = samples[samples["in_window"]]
    seen = 0
    for row in runs.to_dict("records"):
        flags = row["flags"].split(",")
        if "stalled" in flags:
            assert "emulator_late" in flags, (flags, row["message"])
            continue
        seen += 1
        assert "starved" in flags, (flags, row["message"])
        silent = row["silent_streams"]
        assert 0 < silent < STREAMS and 0 < row["jain_index"] < 1
        assert f"forward: {silent} of {STREAMS} streams had no byte" in row["message"]
        moved = samples[samples["run_id"] == row["run_id"]].groupby("stream")["bytes"].sum()
        assert (moved == 0).sum() == silent
    assert seen > 0, runs[["flags", "message"]]
    assert "starved" in done.stdout + done.stderr
