"""Drift, a step and carry-over are found where they are, and seldom where they are not."""

from __future__ import annotations

import math

import null_pages
import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab.analysis import order_effects
from netlab.analysis.measured import load_measured
from netlab.analysis.order_effects import stability
from netlab.analysis.over_campaigns import trend
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog
from netlab.results.store import Store
from netlab.study.frozen import freeze


@pytest.fixture(scope="module")
def study():
    return synthetic.openlab()


def campaign(study, seed: int, noise: float = 0.03) -> pd.DataFrame:
    """Runs half a second apart, in planned order."""
    runs = synthetic.runs_of(study, seed=seed, noise=noise).sort_values("order")
    start = pd.Timestamp("2026-01-02", tz="UTC")
    return runs.assign(started_at=start + pd.to_timedelta(np.arange(len(runs)), unit="s"))


def found(runs: pd.DataFrame) -> pd.DataFrame:
    return stability(runs).set_index("test")


def scaled(runs: pd.DataFrame, factor) -> pd.DataFrame:
    return runs.assign(goodput_MBps=runs["goodput_MBps"] * factor)


def test_a_quiet_campaign_is_stable(study):
    table = found(campaign(study, 1))
    assert table.index.tolist() == ["drift", "step", "carry-over", "correlation of rounds"]
    assert not table["found"].any() and (table["p"].dropna() > 0.01).all()
    assert table["text"].head(3).str.contains("distinguishable from zero").all()
    assert "3 rounds are too few" in table["text"].iloc[3]


def test_a_permutation_of_visits_is_that_of_sorting_their_runs_by_it(study):
    series = order_effects._series(campaign(study, 3))
    visit, scaled = (series[name].to_numpy() for name in ("visit", "scaled"))
    assert len(set(np.bincount(visit))) > 1, "visits of different lengths"
    shuffled, rng = (
        order_effects._shuffled(series, np.random.default_rng(5)),
        np.random.default_rng(5),
    )
    for _ in range(20):
        order = rng.permutation(visit.max() + 1)
        assert (shuffled() == scaled[np.argsort(order[visit], kind="stable")]).all()


def test_findings_in_quiet_campaigns_are_as_rare_as_the_level_says(study, monkeypatch):
    monkeypatch.setattr(order_effects, "PERMUTATIONS", 59)
    monkeypatch.setattr(order_effects, "LEVEL", 0.05)
    quiet, rng = campaign(study, 0, noise=0.0), np.random.default_rng(0)
    campaigns = (scaled(quiet, np.exp(rng.normal(0, 0.03, len(quiet)))) for _ in range(40))
    findings = sum(found(runs)["found"].sum() for runs in campaigns)
    assert findings <= 13  # of 120 at 5 %: more has a probability below 1 in 100


def test_a_drift_is_found_with_its_size_over_the_time_measured_or_an_hour(study):
    runs = campaign(study, 2)
    hours = np.arange(len(runs)) / 3600
    table = found(scaled(runs, np.exp(0.5 * hours)))
    drift = table.loc["drift"]
    true_percent = 100 * math.expm1(0.5 * hours[-1])
    assert drift["found"] and drift["low"] < true_percent < drift["high"]
    assert drift["estimate"] == pytest.approx(true_percent, rel=0.3)
    minutes = f"{60 * hours[-1]:.1f} min" if hours[-1] < 1 / 6 else f"{60 * hours[-1]:.0f} min"
    assert drift["unit"] == f"% over {minutes}" and "an hour" not in drift["text"]
    assert drift["text"].startswith("goodput drifted by +")
    assert f"interval {drift['low']:+.1f} to {drift['high']:+.1f} %" in drift["text"]
    runs = campaign(study, 2)
    spread = pd.to_timedelta(np.linspace(0, 7200, len(runs)), unit="s")
    longer = runs.assign(started_at=runs["started_at"].min() + spread)
    table = found(scaled(longer, np.exp(0.05 * np.linspace(0, 2, len(runs)))))
    assert table.loc["drift", "unit"] == "% an hour"
    assert table.loc["drift", "low"] < 100 * math.expm1(0.05) < table.loc["drift", "high"]


@pytest.mark.parametrize("rounds", [2, 3])
def test_the_interval_of_the_drift_covers_it(study, rounds):
    """95 % of 120 campaigns; fewer than 106 or all of them have a probability below 1 in 100."""
    quiet, rng = campaign(study, 0, noise=0.0), np.random.default_rng(rounds)
    quiet = quiet[quiet["round"] <= rounds]
    hours = (quiet["started_at"] - quiet["started_at"].min()).dt.total_seconds() / 3600
    visit = quiet.groupby(["block_id", "round"]).ngroup()
    covered = 0
    for _ in range(120):
        shared = rng.normal(0, 0.02, visit.max() + 1)[visit]
        noise = rng.normal(0, 0.03, len(quiet)) + shared
        series = order_effects._series(scaled(quiet, np.exp(noise + 0.3 * hours)))
        _, low, high = order_effects._slope_within(series)
        covered += low < 0.3 < high
    assert 106 <= covered < 120


def test_a_step_is_found_with_its_time_and_size(study):
    runs = campaign(study, 3)
    late = np.arange(len(runs)) >= 300
    table = found(scaled(runs, np.where(late, 0.93, 1.0)))
    assert table.loc["step", "found"]
    assert table.loc["step", "estimate"] == pytest.approx(-7, abs=3)
    assert "00:04:5" in table.loc["step", "text"] or "00:05:0" in table.loc["step", "text"]


def test_carry_over_is_found(study):
    runs = campaign(study, 4)
    before = runs.groupby(["block_id", "round"])["goodput_MBps"].shift(1)
    relative = np.log(before / before.median()).fillna(0)
    table = found(scaled(runs, np.exp(0.05 * relative)))
    assert (
        table.loc["carry-over", "found"]
        and "faster after a fast run" in table.loc["carry-over", "text"]
    )


def test_few_visits_are_not_tested_and_an_empty_frame_is_not_an_error(study):
    runs = campaign(study, 1)
    few = runs[runs["block_id"].isin(runs["block_id"].unique()[:2])]
    table = found(few)
    assert table["p"].isna().all() and not table["found"].any()
    assert table["text"].str.contains("too few").all()
    assert len(stability(runs.iloc[:0])) == 4


IDS = ("20260101T000000Z", "20260102T000000Z", "20260103T000000Z")


def directory_of(tmp_path, study, factors):
    """Results of one campaign a factor, whose goodput is multiplied by it."""
    store = Store(tmp_path)
    for number, (campaign, factor) in enumerate(zip(IDS, factors, strict=False)):
        freeze(study, campaign_files.folder(tmp_path, campaign))
        log = CampaignLog(campaign, "k", "2026-01-01T00:00:00", study.name, study.digest(), "0.1.0")
        campaign_files.write_log(tmp_path, log)
        runs = synthetic.runs_of(study, seed=number)
        runs = runs.assign(campaign=campaign, goodput_MBps=runs["goodput_MBps"] * factor)
        runs = runs.astype({"campaign": "string"})
        for block_id, part in runs.groupby("block_id"):
            name = campaign_files.part_name(campaign, f"{block_id}@r1", store.parts())
            store.write(name, part, synthetic.intervals_of(part.head(0), study))
    return load_measured(tmp_path)


def test_a_step_is_found_between_the_campaigns_that_differ(tmp_path):
    m = directory_of(tmp_path, synthetic.openlab(), (1.0, 1.0, 0.9))
    frame = trend(m)
    assert frame["campaign"].tolist() == list(IDS)
    assert frame["step"].tolist() == [False, False, True]
    assert frame["ratio"].iloc[2] == pytest.approx(0.9, rel=0.01)
    assert frame["level"].iloc[2] == pytest.approx(0.9, rel=0.01)
    assert (frame["common"] == [0, 140, 140]).all()
    assert frame["low"].iloc[2] < frame["ratio"].iloc[2] < frame["high"].iloc[2]


def test_results_without_campaigns_have_no_trend(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    assert trend(load_measured(tmp_path / "store", tmp_path / "two-racks.yml")).empty


def related(runs: pd.DataFrame, correlation: float, seed: int) -> pd.DataFrame:
    """Goodputs that scatter by 5 % and correlate from round to round within each cell."""
    rng, factors = np.random.default_rng(seed), pd.Series(1.0, index=runs.index)
    for _, cell in runs.groupby(["group", "streams"]):
        log, logs = rng.normal(), []
        for _ in range(len(cell)):
            logs.append(log)
            log = correlation * log + math.sqrt(1 - correlation**2) * rng.normal()
        factors[cell.sort_values("round").index] = np.exp(0.05 * np.array(logs))
    return scaled(runs, factors)


def test_rounds_that_correlate_are_found_with_the_size_of_it(tmp_path):
    twelve = null_pages.null_study(tmp_path, 12)
    quiet = campaign(twelve, 1, noise=0.0)
    quiet["goodput_MBps"] = 100.0
    row = found(related(quiet, 0.6, 1)).loc["correlation of rounds"]
    assert row["found"] and 0.4 < row["estimate"] < 0.8
    assert "factor of about" in row["text"]
    others = [found(related(quiet, 0.0, seed)).loc["correlation of rounds"] for seed in range(8)]
    assert sum(one["found"] for one in others) <= 1
    assert abs(np.mean([one["estimate"] for one in others])) < 0.05
