"""The bottleneck of a cell, and the evidence for that of a run in a sentence."""

import math

import pandas as pd
import pytest

from netlab.analysis.bottleneck import explain, verdicts
from netlab.measure.bottleneck import VERDICTS, bottleneck

RUN = {"goodput_MBps": 500.0, "direction": "->", "streams": 1, "mtu_B": 9000, "mss_B": 8948.0}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"bus_MBps": 510.0}, "bus: 99 % of the 506 MB/s of payload it carries"),
        ({"link_MBps": 510.0}, "link: 99 % of the 506 MB/s of payload it carries"),
        ({"pacing_MBps": 520.0}, "pacing: 96 % of the 520 MB/s of the pacing rate"),
        ({"busiest_core_percent": 99.0}, "CPU: one core was 99 % busy"),
        (
            {"busiest_core_percent": 99.0, "sender_softirq_percent": 25.0},
            "CPU: one core was 99 % busy; softirq takes 25 % of all cores",
        ),
        (
            {"sndbuf_limited_share": 0.7},
            "send buffer: the send buffer was the limit in 70 % of the busy time",
        ),
        (
            {"rwnd_limited_share": 0.8},
            "window: the receiver's was the limit in 80 % of the busy time",
        ),
        (
            {"rtt_us": 100.0, "sndbuf_B": 4e6, "rcvbuf_B": 1e5},
            "window: 50 % of the smaller socket buffer was in flight (bound 1000 MB/s)",
        ),
        (
            {"rtt_us": 100.0, "sndbuf_B": 4e6, "rcvbuf_B": 1e5, "buffer_B": 50_000},
            "window, asked for by the study: 50 % of the smaller socket buffer was in flight "
            "(bound 1000 MB/s)",
        ),
        (  # the host granted less: its limit is the bottleneck
            {"rtt_us": 100.0, "sndbuf_B": 4e6, "rcvbuf_B": 1e5, "buffer_B": 60_000},
            "window: 50 % of the smaller socket buffer was in flight (bound 1000 MB/s)",
        ),
        (
            {"sndbuf_limited_share": 0.7, "sndbuf_B": 1e5, "buffer_B": 50_000},
            "window, asked for by the study: the send buffer was the limit in 70 % of the busy "
            "time",
        ),
        (  # the receiver's buffer is the kernel's
            {"rwnd_limited_share": 0.8, "buffer_B": 50_000, "receive_buffer_B": 0},
            "window: the receiver's was the limit in 80 % of the busy time",
        ),
        (
            {"retransmits": 200, "sent_B": 6e8, "interface_drops": 3, "softnet_drops": 0},
            "loss: 0.3 % of the segments were retransmitted, 3 packets dropped on the hosts",
        ),
        (
            {"retransmits": 200, "sent_B": 6e8},
            "loss: 0.3 % of the segments were retransmitted, "
            "an unknown number of packets dropped on the hosts",
        ),
        ({}, "unknown: no ceiling is known, no core, window or loss stands out"),
        (
            {"bus_MBps": 1000.0},
            "unknown: 50 % of the bus, no core, window or loss stands out",
        ),
        ({"goodput_MBps": math.nan}, "unknown: the run has no goodput"),
        ({"goodput_MBps": None}, "unknown: the run has no goodput"),
        ({"goodput_MBps": pd.NA}, "unknown: the run has no goodput"),
    ],
)
def test_a_sentence_gives_the_word_and_its_evidence(fields, sentence):
    row = RUN | fields
    assert explain(row) == sentence
    assert bottleneck(row) in VERDICTS and sentence.startswith(f"{bottleneck(row)}: ")


@pytest.mark.parametrize("stored", ["kept", "other words", "without the column"])
def test_a_stored_bottleneck_is_not_needed_and_changes_nothing(runs, stored):
    changed = {
        "kept": runs,
        "other words": runs.assign(bottleneck="loss"),
        "without the column": runs.drop(columns="bottleneck"),
    }[stored]
    pd.testing.assert_frame_equal(verdicts(changed), verdicts(runs))


def test_a_cell_takes_the_word_of_most_of_its_runs(runs):
    spoilt = runs.copy()
    first = spoilt[spoilt["bottleneck"] == "CPU"].index[0]
    spoilt.loc[first, "busiest_core_percent"] = 10.0
    found = verdicts(spoilt)
    assert len(found) == 140
    row = spoilt.loc[first]
    keys = ["group", "tuning", "mtu_B", "streams"]
    cell = found[(found[keys] == row[keys]).all(axis=1)].iloc[0]
    assert (cell.bottleneck, cell.agreeing, cell.n) == ("CPU", 2, 3)
    assert "99" in cell.because or "100" in cell.because


def test_the_verdicts_name_the_bottlenecks_of_the_synthetic_runs(runs):
    one_way = runs[runs["direction"] == "->"]
    merged = one_way.merge(
        verdicts(one_way), on=["group", "tuning", "mtu_B", "streams"], suffixes=("_made", "")
    )
    assert (merged["bottleneck"] == merged["bottleneck_made"]).all()


def test_flagged_runs_have_no_word(openlab, runs):
    assert verdicts(runs.assign(flags="stalled")).empty
    assert len(verdicts(runs.assign(flags="stalled"), keep_flagged=True)) == 140
