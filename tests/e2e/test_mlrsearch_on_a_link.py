"""A search on a link of a known rate: bounds that other work cannot break, and no trial twice."""

from __future__ import annotations

import pandas as pd
import pytest
import yaml
from e2e.conftest import run_netlab
from e2e.datagram_study import BUFFER_B, study

from netlab.results.store import Store
from netlab.units import datagram_share

SIZE_B, RATE_MBPS, QUEUE_PACKETS = 1472, 20.0, 33
LINK_MBPS = RATE_MBPS / 8 * datagram_share(1500, SIZE_B)


def search(file, place) -> pd.DataFrame:
    """Bounds of a study; none where other work had a trial flagged each time."""
    words = ("--duration-sum", "3", "--results", str(place))
    done = run_netlab("mlrsearch", str(file), *words)
    bounds = pd.read_csv(place / "bounds.csv")
    ended = bounds["message"].notna()
    assert done.returncode == int(ended.any()), done.stderr
    assert bounds.loc[ended, "message"].astype(str).str.contains(" is flagged ").all()
    assert bounds.loc[ended, ["lower_MBps", "throughput_MBps"]].isna().all(axis=None)
    assert bounds["loss_percent"].tolist() == [0.0, 0.5]
    return bounds


EMULATOR = {"with": "netlab", "rtt_ms": 1.0, "rate_Mbps": RATE_MBPS}
LINKS = {
    # an emulator is never early: the rate and a full queue pass at most
    "drops": ({"emulator": {**EMULATOR, "queue_packets": QUEUE_PACKETS}}, QUEUE_PACKETS),
    # nothing is lost: the sender waits for room in its send buffer, of 93 packets
    "waits": ({"rate_Mbps": RATE_MBPS}, 150),
}


@pytest.mark.parametrize("link", LINKS)
def test_a_search_finds_the_rate_of_a_link_and_repeats_no_trial(link, tmp_path):
    """3 % are for a sender that is late to end."""
    shape, held_packets = LINKS[link]
    ends = [{"host": "left"}, {"host": "right"}]
    changes = {"streams": [1], "factors": {"record_length_B": [SIZE_B]}}
    changes |= {"paths": {"far": {"ends": ends, "link": shape}}, "socket": {"pacing_MBps": 5.0}}
    content = study("rates", {}, **changes)
    content["noise"] = {**content["noise"], "retries": 2}
    # the send buffer is a queue as well
    content["groups"][0] |= {"buffer_B": 0, "receive_buffer_B": BUFFER_B}
    file, store = tmp_path / "study.yml", Store(tmp_path / "r")
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    bounds = search(file, store.directory)
    for row in bounds[bounds["message"].isna()].itertuples():
        most_MBps = 1.03 * LINK_MBPS + held_packets * SIZE_B / 1e6 / row.trial_s
        assert 0 < row.lower_MBps * (1 - row.loss_percent / 100) <= most_MBps
        assert (row.limit == "path") == (row.upper_MBps > 0) == (row.throughput_MBps > 0)
        if link == "waits":
            assert row.limit == "sender"
        elif row.limit == "path":
            assert row.upper_MBps * 0.995 <= row.lower_MBps < row.upper_MBps
    records = store.records()
    valid = records[records["flags"] == ""]
    assert valid["run_id"].nunique() == bounds["trials"].iloc[0]
    again = search(file, store.directory)
    assert (again["trials"] >= bounds["trials"]).all()
    later = store.records().iloc[len(records) :]
    assert not set(later["run_id"]) & set(valid["run_id"])
    if bounds["message"].isna().all():
        assert later.empty and again.equals(bounds)
