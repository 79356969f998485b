"""Cells and comparisons over many stores are those that each store gives."""

from __future__ import annotations

import math
from pathlib import Path

import measured_store
import numpy as np
import pandas as pd
import pytest
import synthetic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from netlab import study as studies
from netlab.analysis.batches import window_rates
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_COLUMNS, CELL_KEYS, Cells, valid
from netlab.analysis.compare import Asked, compare
from netlab.errors import BadInput, NetlabError
from netlab.fleet.records import Stores, stores_below
from netlab.results.store import Store


def assert_same_cells(store: Store) -> None:
    expected = Cells()(store.runs(), store.intervals())
    found = Stores((store,)).cells()
    found = found[found["source"] == str(store.directory)][list(CELL_COLUMNS)]
    order = list(CELL_KEYS)
    found, expected = (each.sort_values(order, ignore_index=True) for each in (found, expected))
    for column in CELL_COLUMNS:
        ours, theirs = found[column], expected[column]
        if pd.api.types.is_float_dtype(theirs):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=column)
        else:
            assert ours.isna().tolist() == theirs.isna().tolist(), column
            assert ours.dropna().tolist() == theirs.dropna().tolist(), column


def test_cells_of_three_rounds_are_those_of_the_store(tmp_path):
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=synthetic.only(tuning=("none", "full")))
    store = Store(tmp_path / "openlab")
    for block_id, part in runs.groupby("block_id"):
        store.write(block_id, part, synthetic.intervals_of(part[:0], study))
    assert_same_cells(store)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    goodputs=st.lists(
        st.one_of(st.floats(1e-3, 1e5), st.just(0.0), st.just(math.nan)), min_size=8, max_size=8
    ),
    flags=st.lists(st.sampled_from(["", "", "", "stalled", "failed,stalled"]), min_size=8),
    rounds=st.integers(1, 4),
)
def test_cells_of_any_goodputs_are_those_of_the_store(tmp_path_factory, goodputs, flags, rounds):
    directory = tmp_path_factory.mktemp("any")
    study = synthetic.foreign(directory, "[1, 4]", rounds=rounds)
    runs = synthetic.runs_of(study)
    runs["flags"] = pd.Series(flags[: len(runs)], dtype="string").reindex(runs.index)
    runs["goodput_MBps"] = goodputs[: len(runs)]
    store = synthetic.store_of(directory / "results", study, runs)
    assert_same_cells(store)


def test_quantiles_of_samples_are_those_of_the_summed_streams(tmp_path):
    study = synthetic.foreign(tmp_path, "[1, 4]", rounds=2)
    store = synthetic.store_of(tmp_path / "results", study)
    found = stores_below([tmp_path / "results"]).samples()
    samples = dict(list(store.intervals().groupby("run_id")))
    runs = valid(store.runs())
    assert len(found) == 2
    for row in found.itertuples():
        of_cell = runs[runs["streams"] == row.streams]
        rates = np.concatenate([window_rates(samples[run]) for run in of_cell["run_id"]])
        assert row.samples == len(rates)
        measured = [row.p01_MBps, row.median_MBps, row.p99_MBps]
        np.testing.assert_allclose(measured, np.quantile(rates, [0.01, 0.5, 0.99]), rtol=1e-9)


def test_stores_without_a_valid_run_have_no_quantiles_and_others_theirs(tmp_path):
    study = synthetic.foreign(tmp_path, "[1, 4]", rounds=2)
    flagged = synthetic.runs_of(study, change=synthetic.setting({"flags": "interference"}))
    synthetic.store_of(tmp_path / "a" / "results", study, flagged)
    assert stores_below([tmp_path / "a"]).samples().empty
    synthetic.store_of(tmp_path / "b" / "results", study)
    pd.testing.assert_frame_equal(
        stores_below([tmp_path / "a", tmp_path / "b"]).samples(),
        stores_below([tmp_path / "b"]).samples(),
    )


def test_a_study_or_a_level_of_confidence_that_is_none_is_refused(tmp_path):
    stores = Stores((synthetic.store_of(tmp_path / "results", synthetic.foreign(tmp_path)),))
    with refused(BadInput, "E-FLEET-046", match="there are two-racks"):
        stores.cells("other")
    with refused(BadInput, "E-FLEET-045"):
        stores.cells(confidence=95)


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
    assert (row.verdict, np.isnan(row.low)) == ("no interval", True)
    assert row.reason == "2 and 2 valid runs, 3 of each are needed"


def test_a_column_or_levels_that_cannot_be_compared_are_refused(tmp_path, study):
    stores = Stores((synthetic.store_of(tmp_path / "results", study),))
    with refused(BadInput, "E-FLEET-047", match="must be one of campaign"):
        stores.compare("goodput_MBps", "1", "2")
    with refused(NetlabError, "E-FLEET-048", match="of streams 1 and of streams 77"):
        stores.compare("streams", "1", "77")
