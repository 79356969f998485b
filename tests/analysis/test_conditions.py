"""Flags, knobs, overhead and noise are reported completely."""

import json

import pandas as pd
import pytest
import synthetic

from netlab.analysis import conditions
from netlab.errors import NetlabError


def test_flagged_runs_are_listed_with_flag_and_reason(openlab):
    def flag(row):
        if row["order"] in (3, 17):
            row |= {"flags": "stalled,interference", "message": "nothing for 0.4 s"}

    runs = synthetic.runs_of(openlab, change=flag)
    listed = conditions.flagged(runs)
    assert listed["order"].tolist() == [3, 17]
    assert set(listed["message"]) == {"nothing for 0.4 s"}
    counts = conditions.flag_counts(runs).set_index("flag")["runs"].to_dict()
    assert counts == {"stalled": 2, "interference": 2}


def test_a_run_without_goodput_is_listed_even_if_unflagged(runs):
    spoilt = runs.copy()
    spoilt.loc[5, "goodput_MBps"] = float("nan")
    assert conditions.flagged(spoilt)["flags"].tolist() == ["no goodput"]


def test_unsupported_knobs_are_gathered_over_runs(runs):
    (row,) = conditions.unsupported(runs).to_dict("records")
    assert (row["hosts"], row["knob"]) == ("linux64-a", "net.ipv4.tcp_tw_recycle")
    assert row["reason"] == "left Linux in 4.12"
    assert row["runs"] == (runs["tuning"] != "none").sum()
    assert set(row["tunings"].split(", ")) == {"kernel", "full"}
    assert conditions.unsupported(runs.assign(unsupported="[]")).empty
    assert conditions.unsupported(runs.assign(unsupported="")).empty


def test_hosts_that_lack_a_knob_for_the_same_reason_share_a_row(runs, openlab):
    lacking = [{"host": h, "knob": "ring rx", "reason": "none"} for h in ("b", "a")]
    lacking.append({"host": "c", "knob": "ring rx", "reason": "fixed"})
    table = conditions.unsupported(runs.assign(unsupported=json.dumps(lacking)), openlab)
    assert table["hosts"].tolist() == ["c", "a, b"]
    assert table["runs"].tolist() == [420, 420]
    assert set(table["tunings"]) == {"none, kernel, full"}


def test_text_that_is_not_json_is_an_error(runs):
    with pytest.raises(NetlabError, match="unsupported"):
        conditions.unsupported(runs.assign(unsupported="{half"))


def test_overhead_counts_the_gap_to_the_next_run(openlab):
    runs = synthetic.runs_of(openlab)
    took = conditions.outside_s(runs)
    assert took.max() == pytest.approx(0.2, abs=1e-6)
    table = conditions.overhead(runs)
    assert len(table) == 15 and table["block"].iloc[-1] == "all blocks"
    assert table["above_limit"].sum() == 0

    slow = runs.copy()
    first = slow.sort_values("started_at").index[0]
    slow.loc[first, "overhead_s"] += 0.5
    slow.loc[first, "wall_s"] += 0.5
    assert conditions.overhead(slow)["above_limit"].iloc[-1] == 1


def test_the_pause_of_a_resumed_block_is_not_overhead(runs):
    later = runs.copy()
    block = later["block_id"] == later["block_id"].iloc[0]
    half = block & (later["order"] > later.loc[block, "order"].median())
    later.loc[half, "started_at"] += pd.Timedelta(hours=3)
    assert conditions.outside_s(later).max() < 0.3


def test_noise_lists_recorded_values_only(runs):
    table = conditions.noise(runs.assign(steal_percent=float("nan")))
    assert not table["quantity"].str.contains("steal").any()
    spread = table[table["quantity"].str.contains("rounds")].iloc[0]
    assert 0 < spread["median"] < spread["worst"] < 5


def test_no_runs_give_empty_tables(runs):
    none = runs.head(0)
    assert conditions.flagged(none).empty and conditions.overhead(none).empty
    assert conditions.noise(none).empty and conditions.unsupported(none).empty
