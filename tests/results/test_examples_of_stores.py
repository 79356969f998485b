"""The stored examples that come with netlab."""

from __future__ import annotations

import pytest

from netlab.files.paths import data_dir
from netlab.results.store import Store

STORES = sorted({path.parent.parent for path in (data_dir() / "examples").rglob("runs/*.parquet")})


@pytest.mark.parametrize("directory", STORES, ids=lambda path: path.name)
def test_samples_are_those_of_the_record_that_counts(directory):
    """A run that was measured again has its older samples in a part of their own."""
    runs, samples = Store(directory).block()
    counted = runs.set_index("run_id")["interval_sum_B"].dropna()
    summed = samples.groupby("run_id")["bytes"].sum().reindex(counted.index)
    assert len(counted) and counted.eq(summed).all()
