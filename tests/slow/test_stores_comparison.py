"""Comparisons over many stores are those that a single pair of runs tables gives."""

from __future__ import annotations

from pathlib import Path

import measured_store
import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.cells import nominal_level
from netlab.analysis.compare import Asked, compare
from netlab.errors import BadInput, NetlabError
from netlab.fleet.records import Stores
from netlab.results.store import Store

STUDY = synthetic.FOREIGN.replace("[1, 64]", "[1, 2, 4]")


@pytest.fixture
def study(tmp_path):
    """A study of three cells in four rounds."""
    path = tmp_path / "two-racks.yml"
    path.write_text(STUDY, encoding="utf-8")
    return studies.load(path, rounds=4)


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, keys: list[str]) -> None:
    assert len(found) == len(expected) > 0
    found, expected = (each.sort_values(keys, ignore_index=True) for each in (found, expected))
    figures = ("ratio", "low", "high", "p_holm", "a_MBps", "b_MBps")
    for column in (*figures, "a_half_percent", "b_half_percent"):
        np.testing.assert_allclose(
            found[column].astype(float), expected[column].astype(float), rtol=1e-9, err_msg=column
        )
    for column in ("verdict", "ranked", "paired", "n_a", "n_b"):
        assert found[column].tolist() == expected[column].tolist()


@pytest.mark.parametrize("noise", [0.0001, 0.01, 0.3])
def test_levels_of_a_factor_compare_as_in_one_store(tmp_path, study, noise):
    directory = tmp_path / "results"
    measured_store.campaign_of(directory, study)
    store = Store(directory)
    rng = np.random.default_rng(1)
    for part in store.parts():
        runs = store.part("runs", part)
        goodput = 100 * np.exp(rng.normal(0, noise, len(runs))) * (1 + (runs["streams"] == 4) / 9)
        store.write(part, runs.assign(goodput_MBps=goodput), store.part("intervals", part))
    runs = store.runs()
    sides = [runs[runs["streams"] == level] for level in (1, 4)]
    expected = compare(*sides, by="streams", one_store=True).frame
    found = Stores((store,)).compare("streams", "1", "4")
    assert found["paired"].all()
    assert_same(found, expected, ["group"])


@pytest.mark.parametrize("noise", [0.001, 0.05])
def test_two_campaigns_compare_as_in_one_store(tmp_path, study, noise):
    directory = tmp_path / "results"
    first, second = "20260105T100000Z", "20260106T100000Z"
    measured_store.campaign_of(directory, study, first)
    store = Store(directory)
    rng = np.random.default_rng(2)
    parts = store.parts()
    measured_store.campaign_of(directory, study, second)
    for part in set(store.parts()) - set(parts):
        runs = store.part("runs", part)
        runs["goodput_MBps"] *= 1.02 * np.exp(rng.normal(0, noise, len(runs)))
        store.write(part, runs, store.part("intervals", part))
    sides = [store.runs(campaign=campaign) for campaign in (first, second)]
    expected = compare(*sides, one_store=True).frame
    stores = Stores((store,))
    for a, b in ((first, second), ("first", "latest")):
        found = stores.compare("campaign", a, b)
        assert not found["paired"].any()
        assert_same(found, expected, ["streams"])


def precise(directory: Path, half_percent: float):
    """The study with a precision for its cells."""
    asked = f"precision: {{half_width_percent: {half_percent}, min_rounds: 4, max_rounds: 8}}\n"
    path = directory / "two-racks.yml"
    path.write_text(STUDY.replace("rounds: 1, ", "") + asked, encoding="utf-8")
    return studies.load(path)


def noisy(store: Store, noises: dict[str, float], faster: float = 1.5) -> None:
    """Give the runs of each campaign a noise; later campaigns are faster each time."""
    rng = np.random.default_rng(3)
    for part in store.parts():
        runs = store.part("runs", part)
        campaign = runs["campaign"].iloc[0]
        effect = faster ** list(noises).index(campaign)
        goodput = 100 * effect * np.exp(rng.normal(0, noises[campaign], len(runs)))
        store.write(part, runs.assign(goodput_MBps=goodput), store.part("intervals", part))


@pytest.mark.parametrize("late", [{"first": 1.0, "second": 100.0}, {"first": 100.0, "second": 1.0}])
def test_a_cell_less_precise_than_its_own_study_asks_is_not_ranked_as_in_one_store(tmp_path, late):
    """Each side is held to the precision that the study of its own campaign asks for."""
    directory = tmp_path / "results"
    first, second = "20260105T100000Z", "20260106T100000Z"
    made = {}
    for campaign, half_percent in zip((first, second), late.values(), strict=True):
        study = made[campaign] = precise(tmp_path, half_percent)
        measured_store.campaign_of(directory, study, campaign)
    store = Store(directory)
    noisy(store, {first: 0.03, second: 0.03})
    asked = tuple(
        Asked(nominal_level(study), study.precision.half_width_percent) for study in made.values()
    )
    sides = [store.runs(campaign=campaign) for campaign in (first, second)]
    expected = compare(*sides, asked=asked, one_store=True).frame
    stores = Stores((store,))
    confidence = min(one.level for one in asked)
    found = stores.compare("campaign", first, second, confidence=confidence)
    assert_same(found, expected, ["streams"])
    wide = "A" if late["first"] == 1.0 else "B"
    assert not found["ranked"].all() and found["verdict"].eq("cannot tell").any()
    for reason in found.loc[~found["ranked"], "reason"]:
        assert reason.startswith(f"{wide} is within") and "its study asks for 1 %" in reason


def test_levels_of_a_factor_are_held_to_the_latest_study(tmp_path):
    directory = tmp_path / "results"
    measured_store.campaign_of(directory, precise(tmp_path, 0.5))
    store = Store(directory)
    noisy(store, {measured_store.CAMPAIGN: 0.05})
    stores = Stores((store,))
    (row,) = stores.compare("streams", "1", "4").itertuples()
    assert (row.ranked, row.verdict) == (False, "cannot tell")
    assert "A is within" in row.reason and "B is within" in row.reason


def test_too_few_rounds_give_no_verdict(tmp_path):
    path = tmp_path / "two-racks.yml"
    path.write_text(STUDY, encoding="utf-8")
    store = synthetic.store_of(tmp_path / "results", studies.load(path, rounds=2))
    (row,) = Stores((store,)).compare("streams", "1", "4").itertuples()
    assert (row.verdict, np.isnan(row.low)) == ("cannot tell", True)
    assert row.reason == "2 and 2 valid runs, 3 of each are needed"


def test_a_column_that_cannot_be_compared_is_refused(tmp_path, study):
    store = synthetic.store_of(tmp_path / "results", study)
    with pytest.raises(BadInput, match="must be one of campaign") as caught:
        Stores((store,)).compare("goodput_MBps", "1", "2")
    assert caught.value.code == "E-FLEET-047"


def test_levels_that_no_cell_has_are_refused(tmp_path, study):
    store = synthetic.store_of(tmp_path / "results", study)
    with pytest.raises(NetlabError, match="of streams 1 and of streams 77") as caught:
        Stores((store,)).compare("streams", "1", "77")
    assert caught.value.code == "E-FLEET-048"
