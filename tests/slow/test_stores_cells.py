"""Cells of many stores are those of each store."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import synthetic
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refused

from netlab.analysis.cells import CELL_COLUMNS, CELL_KEYS, Cells, valid, window_rates
from netlab.errors import BadInput
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


def test_a_study_or_a_level_of_confidence_that_is_none_is_refused(tmp_path):
    stores = Stores((synthetic.store_of(tmp_path / "results", synthetic.foreign(tmp_path)),))
    with refused(BadInput, "E-FLEET-046", match="there are two-racks"):
        stores.cells("other")
    with refused(BadInput, "E-FLEET-045"):
        stores.cells(confidence=95)
