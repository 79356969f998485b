"""Generators are compared cell by cell, and the verdict follows from the interval alone."""

import math

import numpy as np
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st

from netlab import study as studies
from netlab.analysis import agreement
from netlab.errors import BadInput
from netlab.files.paths import data_dir

CELLS = 4 + 2  # shaped at two MTUs, unshaped at one, each with two stream counts
OFF_PERCENT = {"netlab": 0.0, "iperf3": 0.5, "iperf2": -0.5, "nuttcp": 20.0}


@pytest.fixture(scope="module")
def study():
    return studies.load(data_dir() / "studies" / "agreement.yml")


def runs_of(study, *, noise=0.001, change=None, seed=1):
    def value(_study, group, _tuning, mtu_B, streams):
        base = 100.0 * (1 + mtu_B / 9000) * streams**0.1
        return base * (1 + OFF_PERCENT[group.generator] / 100), "link"

    return synthetic.runs_of(study, noise=noise, value=value, change=change, seed=seed)


def test_every_cell_holds_every_other_generator_against_netlabs_own(study):
    compared = agreement.compare(runs_of(study))
    assert len(compared) == 3 * CELLS
    assert set(compared["reference"]) == {"netlab"}
    for name, part in compared.groupby("generator"):
        assert np.allclose(part["difference_percent"], OFF_PERCENT[name], atol=0.4)
        assert set(part["verdict"]) == {"differ" if name == "nuttcp" else "agree"}
        assert (part["low_percent"] < part["difference_percent"]).all()
        assert (part["difference_percent"] < part["high_percent"]).all()


def test_rounds_that_are_unlike_leave_it_undecided(study):
    compared = agreement.compare(runs_of(study, noise=0.1, seed=5))
    assert (compared[compared["generator"] != "nuttcp"]["verdict"] == "undecided").all()


def test_without_netlab_the_first_generator_is_the_reference(study):
    without = runs_of(study, change=lambda row: row["generator"] != "netlab")
    compared = agreement.compare(without)
    assert set(compared["reference"]) == {"iperf2"}
    assert set(compared["generator"]) == {"iperf3", "nuttcp"}


def test_single_runs_have_a_difference_and_no_interval(study):
    single = runs_of(study, change=lambda row: row["round"] == 1)
    compared = agreement.compare(single)
    assert len(compared) == 3 * CELLS and compared["low_percent"].isna().all()
    assert set(compared["verdict"]) == {"undecided"}


def test_runs_of_other_settings_are_not_compared(study):
    def change(row):
        row["buffer_B"] = 65536 if row["generator"] == "netlab" else 0

    compared = agreement.compare(runs_of(study, change=change))
    assert "netlab" not in set(compared["generator"]) | set(compared["reference"])


def test_flagged_runs_are_left_out_unless_they_are_asked_for(study):
    def change(row):
        row["flags"] = "interference" if row["generator"] == "iperf3" else ""

    runs = runs_of(study, change=change)
    assert "iperf3" not in set(agreement.compare(runs)["generator"])
    assert "iperf3" in set(agreement.compare(runs, keep_flagged=True)["generator"])
    assert agreement.meters(runs)["generator"].nunique() == 3


def test_a_study_of_one_generator_has_nothing_to_compare(study):
    alone = runs_of(study, change=lambda row: row["generator"] == "netlab")
    assert not agreement.several(alone) and agreement.several(runs_of(study))
    assert agreement.compare(alone).empty and agreement.summary(agreement.compare(alone)).empty


def test_the_summary_counts_every_comparison_once(study):
    compared = agreement.compare(runs_of(study))
    whole = agreement.summary(compared)
    assert whole["cells"].sum() == len(compared)
    assert (whole[list(agreement.VERDICTS)].sum(axis=1) == whole["cells"]).all()
    assert (whole["least_percent"] <= whole["greatest_percent"]).all()


@pytest.mark.parametrize("bound", [0, -1, math.nan])
def test_an_impossible_bound_is_bad_input(study, bound):
    with pytest.raises(BadInput, match="bound_percent: must be above 0"):
        agreement.compare(runs_of(study), bound_percent=bound)


percents = st.floats(-50, 50)


@given(percents, percents, st.floats(0.01, 20))
def test_a_verdict_says_where_its_interval_lies(one, other, bound):
    low, high = sorted((one, other))
    found = agreement.verdict(low, high, bound)
    assert found == agreement.verdict(-high, -low, bound)
    if found == "agree":
        assert max(abs(low), abs(high)) <= bound
    elif found == "differ":
        assert min(abs(low), abs(high)) > bound and low * high > 0
    else:
        assert low <= bound <= high or low <= -bound <= high
