"""A search on a link of a known rate: bounds that other work cannot break, and no trial twice."""

from __future__ import annotations

import pandas as pd
import yaml
from test_datagrams import study

from netlab.results.store import Store
from netlab.units import datagram_share
from tests.e2e.conftest import run_netlab

SIZE_B, RATE_MBPS, QUEUE_PACKETS = 1472, 20.0, 33
LINK_MBPS = RATE_MBPS / 8 * datagram_share(1500, SIZE_B)


def test_a_search_finds_the_rate_of_a_link_and_repeats_no_trial(tmp_path):
    """An emulator is never early: the rate and a full queue pass at most; 3 % for a late end."""
    emulator = {"rtt_ms": 1.0, "rate_Mbps": RATE_MBPS, "queue_packets": QUEUE_PACKETS}
    changes = {"streams": [1], "factors": {"record_length_B": [SIZE_B]}}
    content = study("rates", emulator, socket={"pacing_MBps": 5.0}, **changes)
    content["noise"] |= {"retries": 5}
    file, place = tmp_path / "study.yml", tmp_path / "r"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    words = ("mlrsearch", str(file), "--duration-sum", "3", "--results", str(place))
    done = run_netlab(*words)
    assert done.returncode == 0, done.stderr
    bounds = pd.read_csv(place / "bounds.csv")
    assert bounds["loss_percent"].tolist() == [0.0, 0.5] and bounds["message"].isna().all()
    runs = Store(place).runs()
    assert (runs["flags"] == "").all() and len(runs) == bounds["trials"].iloc[0]
    for row in bounds.itertuples():
        lost_share = row.loss_percent / 100
        most_MBps = 1.03 * LINK_MBPS + QUEUE_PACKETS * SIZE_B / 1e6 / row.trial_s
        assert 0 < row.lower_MBps * (1 - lost_share) <= most_MBps
        if row.limit == "path":
            assert row.upper_MBps * 0.995 <= row.lower_MBps < row.upper_MBps
            assert row.throughput_MBps <= row.lower_MBps
    at_most = runs[runs["pacing_MBps"] == 5.0].iloc[0]
    assert at_most["lost_percent"] + at_most["skipped_datagrams"] > 0
    before = Store(place).records()
    again = run_netlab(*words)
    assert again.returncode == 0 and again.stdout == done.stdout, again.stderr
    assert len(Store(place).records()) == len(before)
