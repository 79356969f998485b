"""A window too short for its streams: the run says how many had no byte, and is left out."""

import yaml

from netlab.results.store import Store
from tests.e2e.conftest import ANY_NOISE, run_netlab

STREAMS, RATE_MBPS, SECONDS = 300, 3.0, 0.7
FRAME_B = 1514


def test_streams_without_a_byte_in_the_window_are_counted_and_flagged(tmp_path, machine_untouched):
    assert RATE_MBPS * 1e6 / 8 * SECONDS / FRAME_B < 0.6 * STREAMS, "fewer segments than streams"
    ends = [{"host": "left"}, {"host": "right"}]
    link = {"emulator": {"with": "netlab", "rate_Mbps": RATE_MBPS, "queue_packets": 2000}}
    content = {
        **{"netlab": 1, "name": "crowd", "title": "More streams than segments"},
        "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
        "paths": {"slow": {"ends": ends, "link": link}},
        "groups": [{"name": "one way", "path": "slow", "sender": "left", "buffer_B": 4608}],
        **{"streams": [STREAMS], "force_buffer": True, "noise": ANY_NOISE},
        "timing": {"rounds": 1, "seconds": SECONDS, "warmup_s": 0.3, "drain_s": 30},
    }
    file = tmp_path / "study.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    done = run_netlab("run", str(file), "--results", str(tmp_path / "r"), timeout_s=120)
    store = Store(tmp_path / "r")
    row = store.runs().iloc[0]
    assert "starved" in row["flags"].split(","), (row["flags"], row["message"], done.stderr)
    assert 0.4 * STREAMS < row["silent_streams"] < STREAMS and 0 < row["jain_index"] < 0.6
    assert f"forward: {row['silent_streams']} of {STREAMS} streams had no byte" in row["message"]
    samples = store.intervals()
    moved = samples[samples["in_window"]].groupby("stream")["bytes"].sum()
    assert (moved == 0).sum() == row["silent_streams"]
    assert "starved" in done.stdout + done.stderr
