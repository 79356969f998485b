"""Comparisons over many stores are those that a single pair of runs tables gives."""

from __future__ import annotations

from pathlib import Path

import measured_store
import numpy as np
import pandas as pd
import pytest
import synthetic
from refusals import refused

from netlab import study as studies
from netlab.analysis.cells import nominal_level
from netlab.analysis.compare import Asked, compare
from netlab.errors import BadInput, NetlabError
from netlab.fleet.records import Stores
from netlab.results.store import Store

FIRST, SECOND = "20260105T100000Z", "20260106T100000Z"
STREAMS = "[1, 2, 4]"


@pytest.fixture
def study(tmp_path):
    """A study of three cells in four rounds."""
    return synthetic.foreign(tmp_path, STREAMS, rounds=4)


def changed(store: Store, change, parts=None) -> None:
    """Give the runs of the parts other goodputs."""
    for part in parts or store.parts():
        runs = store.part("runs", part)
        runs = runs.assign(goodput_MBps=change(runs))
        store.write(part, runs, store.part("intervals", part))


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
    changed(
        store,
        lambda runs: (
            100 * np.exp(rng.normal(0, noise, len(runs))) * (1 + (runs["streams"] == 4) / 9)
        ),
    )
    runs = store.runs()
    sides = [runs[runs["streams"] == level] for level in (1, 4)]
    expected = compare(*sides, by="streams", one_store=True).frame
    found = Stores((store,)).compare("streams", "1", "4")
    assert found["paired"].all()
    assert_same(found, expected, ["group"])


@pytest.mark.parametrize("noise", [0.001, 0.05])
def test_two_campaigns_compare_as_in_one_store(tmp_path, study, noise):
    directory = tmp_path / "results"
    measured_store.campaign_of(directory, study, FIRST)
    store = Store(directory)
    rng = np.random.default_rng(2)
    parts = store.parts()
    measured_store.campaign_of(directory, study, SECOND)
    changed(
        store,
        lambda runs: runs["goodput_MBps"] * 1.02 * np.exp(rng.normal(0, noise, len(runs))),
        set(store.parts()) - set(parts),
    )
    sides = [store.runs(campaign=campaign) for campaign in (FIRST, SECOND)]
    expected = compare(*sides, one_store=True).frame
    stores = Stores((store,))
    for a, b in ((FIRST, SECOND), ("first", "latest")):
        found = stores.compare("campaign", a, b)
        assert not found["paired"].any()
        assert_same(found, expected, ["streams"])


def precise(directory: Path, half_percent: float):
    """The study with a precision for its cells."""
    asked = f"precision: {{half_width_percent: {half_percent}, min_rounds: 4, max_rounds: 8}}\n"
    path = synthetic.foreign_file(directory, STREAMS)
    path.write_text(path.read_text().replace("rounds: 1, ", "") + asked, encoding="utf-8")
    return studies.load(path)


def noisy(store: Store, noise: float) -> None:
    """Give the runs a noise; those of the second campaign are faster."""
    rng = np.random.default_rng(3)

    def goodput(runs: pd.DataFrame) -> np.ndarray:
        effect = 1.5 if runs["campaign"].iloc[0] == SECOND else 1.0
        return 100 * effect * np.exp(rng.normal(0, noise, len(runs)))

    changed(store, goodput)


@pytest.mark.parametrize("late", [{"first": 1.0, "second": 100.0}, {"first": 100.0, "second": 1.0}])
def test_a_cell_less_precise_than_its_own_study_asks_is_not_ranked_as_in_one_store(tmp_path, late):
    """Each side is held to the precision that the study of its own campaign asks for."""
    directory = tmp_path / "results"
    made = {}
    for campaign, half_percent in zip((FIRST, SECOND), late.values(), strict=True):
        study = made[campaign] = precise(tmp_path, half_percent)
        measured_store.campaign_of(directory, study, campaign)
    store = Store(directory)
    noisy(store, 0.03)
    asked = tuple(
        Asked(nominal_level(study), study.precision.half_width_percent) for study in made.values()
    )
    sides = [store.runs(campaign=campaign) for campaign in (FIRST, SECOND)]
    expected = compare(*sides, asked=asked, one_store=True).frame
    stores = Stores((store,))
    confidence = min(one.level for one in asked)
    found = stores.compare("campaign", FIRST, SECOND, confidence=confidence)
    assert_same(found, expected, ["streams"])
    wide = "A" if late["first"] == 1.0 else "B"
    assert not found["ranked"].all() and found["verdict"].eq("cannot tell").any()
    for reason in found.loc[~found["ranked"], "reason"]:
        assert reason.startswith(f"{wide} is within") and "its study asks for 1 %" in reason


def test_levels_of_a_factor_are_held_to_the_latest_study(tmp_path):
    directory = tmp_path / "results"
    measured_store.campaign_of(directory, precise(tmp_path, 0.5))
    store = Store(directory)
    noisy(store, 0.05)
    stores = Stores((store,))
    (row,) = stores.compare("streams", "1", "4").itertuples()
    assert (row.ranked, row.verdict) == (False, "cannot tell")
    assert "A is within" in row.reason and "B is within" in row.reason


def test_too_few_rounds_give_no_verdict(tmp_path):
    study = synthetic.foreign(tmp_path, STREAMS, rounds=2)
    store = synthetic.store_of(tmp_path / "results", study)
    (row,) = Stores((store,)).compare("streams", "1", "4").itertuples()
    assert (row.verdict, np.isnan(row.low)) == ("cannot tell", True)
    assert row.reason == "2 and 2 valid runs, 3 of each are needed"


def test_a_column_or_levels_that_cannot_be_compared_are_refused(tmp_path, study):
    stores = Stores((synthetic.store_of(tmp_path / "results", study),))
    with refused(BadInput, "E-FLEET-047", match="must be one of campaign"):
        stores.compare("goodput_MBps", "1", "2")
    with refused(NetlabError, "E-FLEET-048", match="of streams 1 and of streams 77"):
        stores.compare("streams", "1", "77")
