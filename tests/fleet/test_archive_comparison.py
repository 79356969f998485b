"""Comparisons over an archive are those that a single pair of runs tables gives."""

from __future__ import annotations

from pathlib import Path

import measured_store
import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab import study as studies
from netlab.analysis.compare import compare
from netlab.errors import BadInput, NetlabError
from netlab.fleet.archive.archive import Archive
from netlab.fleet.archive.compaction import compact
from netlab.results import Store

STUDY = synthetic.FOREIGN.replace("[1, 64]", "[1, 2, 4]")


@pytest.fixture
def study(tmp_path):
    """A study of three cells in four rounds."""
    path = tmp_path / "two-racks.yml"
    path.write_text(STUDY, encoding="utf-8")
    return studies.load(path, rounds=4)


def archived(directory: Path, store: Store) -> Archive:
    compact(directory / "archive", [store])
    return Archive(directory / "archive")


def assert_same(found: pd.DataFrame, expected: pd.DataFrame, keys: list[str]) -> None:
    assert len(found) == len(expected) > 0
    found, expected = (each.sort_values(keys, ignore_index=True) for each in (found, expected))
    for column in ("ratio", "low", "high", "p_holm", "a_MBps", "b_MBps"):
        np.testing.assert_allclose(
            found[column].astype(float), expected[column].astype(float), rtol=1e-9, err_msg=column
        )
    for column in ("verdict", "paired", "n_a", "n_b"):
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
    found = archived(tmp_path, store).compare("streams", "1", "4")
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
    archive = archived(tmp_path, store)
    for a, b in ((first, second), ("first", "latest")):
        found = archive.compare("campaign", a, b)
        assert not found["paired"].any()
        assert_same(found, expected, ["streams"])


def test_too_few_rounds_give_no_verdict(tmp_path):
    path = tmp_path / "two-racks.yml"
    path.write_text(STUDY, encoding="utf-8")
    store = synthetic.store_of(tmp_path / "results", studies.load(path, rounds=2))
    (row,) = archived(tmp_path, store).compare("streams", "1", "4").itertuples()
    assert (row.verdict, np.isnan(row.low)) == ("cannot tell", True)
    assert "3 valid runs" in row.reason


def test_a_column_that_cannot_be_compared_is_refused(tmp_path, study):
    store = synthetic.store_of(tmp_path / "results", study)
    with pytest.raises(BadInput, match="choose from campaign") as caught:
        archived(tmp_path, store).compare("goodput_MBps", "1", "2")
    assert caught.value.code == "E-FLEET-047"


def test_levels_that_no_cell_has_are_refused(tmp_path, study):
    store = synthetic.store_of(tmp_path / "results", study)
    with pytest.raises(NetlabError, match="of streams 1 and of streams 77") as caught:
        archived(tmp_path, store).compare("streams", "1", "77")
    assert caught.value.code == "E-FLEET-048"
