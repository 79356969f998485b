"""A fleet keeps cells of different further and outer factors apart."""

from __future__ import annotations

from analysis.crossed_runs import assert_alone_as_in_all, crossed_runs, crossed_study

from netlab.analysis.cells import CELL_KEYS, LEVELS
from netlab.fleet.links import link_cells
from netlab.fleet.records import COMPARED, KEYS
from netlab.study.schedule import cell_of


def of_links(runs, study):
    of_cell = {cell_of(row.run_id): row.factors for row in runs.itertuples()}
    frame = link_cells(runs)
    return frame.assign(factors=frame["cell"].map(of_cell))[["cell", "factors", "goodput_MBps"]]


def test_links_of_all_are_those_of_each_combination_of_factors():
    study = crossed_study()
    assert_alone_as_in_all(of_links, crossed_runs(study), study)


def test_the_columns_of_a_cell_are_the_same_everywhere():
    for keys in (COMPARED, KEYS):
        assert set(CELL_KEYS) - {"group"} <= set(keys)
    assert {*LEVELS} <= {*COMPARED}
