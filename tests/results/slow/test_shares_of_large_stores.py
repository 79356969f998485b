"""Shares of the streams of all cells: one pass over the runs, and what a cell alone would say."""

import time

import large_store
import numpy as np
import pytest
from large_store import Size

from netlab.analysis import later_flows, shares
from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS, valid
from netlab.analysis.measured import load_measured
from netlab.measure.fairness import jain


def test_shares_of_all_cells_are_those_of_each_cell_for_itself(cells):
    streams, good = shares.of_streams(cells), set(valid(cells.runs)["run_id"])
    counted = streams[streams["run_id"].isin(good)]
    level, indices, each = nominal_level(cells.study), [], []
    parts = dict(list(counted.groupby(list(CELL_KEYS))))
    for cell in cells.cells[list(CELL_KEYS)].itertuples(index=False, name=None):
        if (part := parts.get(cell)) is None:
            continue
        wide = part.pivot_table(index="run_id", columns="stream", values="goodput_MBps")
        least = 1 / wide.shape[1]
        indices.append(shares.bounded_interval(jain(wide.to_numpy()), least, 1.0, level))
        for _, own in part.groupby("stream"):
            values = own["share_percent"].to_numpy()
            each.append(shares.bounded_interval(values, 0.0, 100.0, level))
    found = shares.of_jain(cells)[["jain_index", "jain_low", "jain_high"]].to_numpy()
    assert len(indices) > 10
    np.testing.assert_allclose(found, np.array(indices), rtol=1e-9)
    columns = ["share_percent", "share_low_percent", "share_high_percent"]
    found = shares.of_each_stream(cells)[columns].to_numpy()
    np.testing.assert_allclose(found, np.array(each), rtol=1e-9)


def test_shares_of_all_cells_cost_about_as_much_as_the_sums_of_their_samples(cells):
    """CPU time; a pass over all runs for each cell took fifty times as much as all sums."""
    times_s = []
    for analyses in (
        (shares.of_streams,),
        (shares.of_stacks, shares.of_jain, later_flows.of_newcomers),
    ):
        before_s = time.process_time()
        for analysis in analyses:
            analysis(cells)
        times_s.append(time.process_time() - before_s)
    sums_s, all_s = times_s
    assert all_s < 10 * sums_s


@pytest.fixture
def cells(tmp_path):
    large_store.write(tmp_path / "cells", Size(paths=1, streams=10, rounds=5, samples=40))
    return load_measured(tmp_path / "cells")
