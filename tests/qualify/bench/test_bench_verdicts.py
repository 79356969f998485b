"""Ratios and verdicts from samples with a known truth."""

import math

import numpy as np
import pandas as pd
import pytest

from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER
from netlab.qualify.bench_ratios import BEST_PEER, medians, ratios, summary

CELL = {"mode": "same", "offloads": "on", "mtu_B": 1500, "streams": 4}


def samples(noise: float = 0.0, *, rounds: int = 7, seed: int = 1, **rates: float) -> pd.DataFrame:
    """Samples of contenders with given rates, and noise in each round."""
    generator = np.random.default_rng(seed)
    load = {"steal_percent": 0.0, "foreign_percent": 1.0, "flags": ""}
    rows = [
        {
            **{**CELL, "contender": name, "variant": "copy 1 MiB", "round": number},
            "goodput_MBps": rate * math.exp(noise * generator.standard_normal()),
            "cpu_s_per_GB": 1000 / rate,
            **load,
        }
        for number in range(1, rounds + 1)
        for name, rate in rates.items()
    ]
    return pd.DataFrame.from_records(rows)


def compared(frame: pd.DataFrame) -> pd.DataFrame:
    return ratios(frame).set_index("other")


def row_of(noise: float = 0.0, *, seed: int = 1, **rates: float) -> pd.Series:
    """gensink compared with iperf3, which has 1000 MB/s unless given."""
    return compared(samples(noise, seed=seed, **{"iperf3": 1000.0, **rates})).loc["iperf3"]


@pytest.mark.parametrize(
    ("noise", "rates", "verdict"),
    [
        (0.01, {"gensink": 3000.0, "iperf3": 2500.0}, FASTER),
        (0.01, {"gensink": 900.0}, SLOWER),
        # noise larger than the difference cannot be told from none
        (0.2, {"gensink": 1050.0}, CANNOT_TELL),
        # an interval within five per cent is the same, and a wider one is not
        (0.005, {"gensink": 1010.0}, SAME),
        (0.1, {"gensink": 1010.0}, CANNOT_TELL),
    ],
)
def test_a_verdict_follows_from_the_interval(noise, rates, verdict):
    row = row_of(noise, **rates)
    assert row["verdict"] == verdict
    assert verdict != CANNOT_TELL or (row["reason"] and row["noise_percent"] > 5)
    assert verdict != SAME or (row["low"] >= 0.95 and row["high"] <= 1.05)


def test_a_clear_difference_is_stated_with_an_interval_that_holds_it():
    row = row_of(0.01, gensink=3000.0, iperf3=2500.0)
    assert row["low"] < 1.2 < row["high"]
    assert row["high"] - row["low"] < 0.1
    assert row["cpu_ratio"] == pytest.approx(2500 / 3000)


def test_equal_contenders_are_seldom_found_different():
    verdicts = [row_of(0.05, seed=seed, gensink=1000.0)["verdict"] for seed in range(40)]
    assert verdicts.count(CANNOT_TELL) + verdicts.count(SAME) >= 36


def test_a_drift_common_to_all_contenders_is_not_noise():
    frame = samples(0.0, gensink=1100.0, iperf3=1000.0)
    frame["goodput_MBps"] *= 1 + 0.3 * frame["round"]
    row = compared(frame).loc["iperf3"]
    assert row["ratio"] == pytest.approx(1.1)
    assert row["noise_percent"] == pytest.approx(0.0, abs=1e-9)
    assert row["verdict"] == FASTER


def test_fewer_than_three_rounds_make_no_statement():
    row = compared(samples(0.0, rounds=2, gensink=2000.0, iperf3=1000.0)).loc["iperf3"]
    assert (row["verdict"], row["ratio"]) == (NO_INTERVAL, pytest.approx(2.0))
    assert "2 undisturbed rounds" in row["reason"]
    assert row[["low", "high", "cpu_low", "cpu_high", "p_holm"]].isna().all()


def test_disturbed_rounds_are_left_out_and_fewer_than_three_others_make_no_statement():
    frame = samples(0.0, gensink=2000.0, iperf3=1000.0)
    hit = frame["round"] <= 4
    frame.loc[hit, "flags"] = "interference"
    frame.loc[hit & (frame["contender"] == "gensink"), "goodput_MBps"] /= 4
    row = compared(frame).loc["iperf3"]
    assert (row["verdict"], row["pairs"], row["disturbed"]) == (FASTER, 3, 4)
    assert row["ratio"] == pytest.approx(2.0)
    frame.loc[(frame["round"] == 5) & (frame["contender"] == "iperf3"), "flags"] = "interference"
    row = compared(frame).loc["iperf3"]
    assert (row["verdict"], row["pairs"]) == (NO_INTERVAL, 2)
    assert "steal or foreign load in 5" in row["reason"]
    frame["flags"] = "interference"
    assert math.isnan(compared(frame).loc["iperf3", "ratio"])


def test_intervals_widen_with_the_pairs_of_their_mode_and_plain_does_not_count():
    pair = samples(0.02, gensink=1000.0, iperf3=1000.0)
    alone = compared(pair).loc["iperf3"]
    pd.testing.assert_frame_equal(compared(pair), compared(pair))  # the same each time

    def width(*further: pd.DataFrame) -> float:
        rows = ratios(pd.concat([pair, *further]))
        first = rows[(rows["mode"] == "same") & (rows["streams"] == 4)].set_index("other")
        return math.log(first.loc["iperf3", "high"] / first.loc["iperf3", "low"])

    narrow = math.log(alone["high"] / alone["low"])
    plain = pair[pair["contender"] == "iperf3"].assign(contender="plain")
    assert width(plain) == pytest.approx(narrow)
    assert width(pair.assign(mode="best")) == pytest.approx(narrow)
    assert width(pair.assign(streams=1)) > 1.1 * narrow
    assert width(plain.assign(contender="nuttcp")) > 1.1 * narrow


def test_a_failed_transfer_takes_its_round_from_the_comparison_alone():
    frame = samples(0.01, gensink=2000.0, iperf3=1000.0, nuttcp=500.0)
    frame.loc[(frame["contender"] == "iperf3") & (frame["round"] == 2), "goodput_MBps"] = None
    rows = compared(frame)
    assert (rows.loc["iperf3", "pairs"], rows.loc["nuttcp", "pairs"]) == (6, 7)
    found = medians(frame).set_index("contender")
    assert (found.loc["iperf3", "n"], found.loc["iperf3", "failed"]) == (6, 1)


def test_a_peer_that_always_failed_has_no_ratio_and_no_verdict():
    frame = samples(0.01, gensink=2000.0, iperf3=1000.0)
    frame.loc[frame["contender"] == "iperf3", "goodput_MBps"] = None
    row = compared(frame).loc["iperf3"]
    assert math.isnan(row["ratio"])
    assert row["verdict"] == NO_INTERVAL
    assert BEST_PEER not in compared(frame).index


def test_the_best_peer_is_the_one_with_the_highest_median():
    rows = compared(samples(0.01, gensink=2000.0, iperf3=1000.0, iperf2=1800.0, nuttcp=900.0))
    assert rows.loc[BEST_PEER, "against"] == "iperf2"
    assert rows.loc[BEST_PEER, "ratio"] == rows.loc["iperf2", "ratio"]


def test_plain_is_compared_and_is_never_the_best_peer():
    rows = compared(samples(0.01, gensink=2000.0, plain=1900.0, iperf3=1000.0))
    assert rows.loc["plain", "ratio"] == pytest.approx(2000 / 1900, rel=0.02)
    assert (rows.loc["plain", "against"], rows.loc[BEST_PEER, "against"]) == ("plain", "iperf3")
    alone = compared(samples(0.01, gensink=2000.0, plain=1900.0))
    assert list(alone.index) == ["plain"]


def test_the_summary_counts_verdicts_against_the_best_peer():
    best = samples(0.01, gensink=900.0, iperf3=1000.0).assign(mode="best")
    frame = pd.concat(
        [
            samples(0.01, gensink=2000.0, iperf3=1000.0, iperf2=500.0),
            samples(0.5, gensink=1000.0, iperf3=1000.0).assign(streams=1),
            best,
        ]
    )
    rows = summary(ratios(frame)).set_index("mode")
    assert list(rows.loc["same", ["cells", "faster", "the_same", "cannot_tell"]]) == [2, 1, 0, 1]
    assert list(rows.loc["best", ["cells", "slower"]]) == [1, 1]
    assert rows.loc["same", "highest_ratio"] == pytest.approx(2.0, rel=0.05)
