"""Effects of knobs from runs: missing runs, failed rows, the least set."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from search.screened import found_knobs, rows_measured

from netlab.errors import NetlabError
from netlab.search.screen.design import FOLDED, FULL, LEAVE_ONE_OUT, design
from netlab.search.screen.effects import EFFECT_COLUMNS, growing_sets, knob_effects, least_set

KNOBS = ("a", "b", "c", "d", "e", "f")


def measured(plan, ratios, rounds=4, **how) -> pd.DataFrame:
    levels = {
        row: 500.0 * np.prod([ratios.get(knob, 1.0) for knob in chosen])
        for row, chosen in plan.rows.items()
    }
    return rows_measured(levels, rounds, **how)


@pytest.mark.parametrize("kind", [FULL, FOLDED, LEAVE_ONE_OUT])
def test_each_design_finds_the_ratio_of_a_knob(kind):
    plan = design(KNOBS, kind)
    frame = knob_effects(measured(plan, {"b": 1.3, "e": 0.7}, 6), plan)
    assert tuple(frame.columns) == EFFECT_COLUMNS
    by_knob = frame[frame["with_knob"] == ""].set_index("knob")
    assert by_knob.loc["b", "ratio"] == pytest.approx(1.3, rel=0.03)
    assert by_knob.loc["b", "verdict"] == "faster" and by_knob.loc["e", "verdict"] == "slower"
    assert found_knobs(frame) == ("b", "e")
    assert (by_knob.loc[["a", "c", "d", "f"], "verdict"] == "the same").all()
    assert least_set(frame) == ("b",), "a knob that costs goodput is left out"


def test_runs_that_are_flagged_or_missing_leave_the_effects_in_place():
    plan = design(KNOBS, FOLDED)
    runs = measured(plan, {"b": 1.3})
    runs.loc[runs.index % 7 == 0, ["flags", "goodput_MBps"]] = ["interference", 1.0]
    frame = knob_effects(runs.drop(index=[3, 20]), plan)
    assert found_knobs(frame) == ("b",)
    assert frame["ratio"].iloc[1] == pytest.approx(1.3, rel=0.03)


def test_the_level_of_a_round_does_not_matter():
    plan = design(KNOBS, FOLDED)
    runs = measured(plan, {"b": 1.3})
    drifted = runs.assign(goodput_MBps=runs["goodput_MBps"] * 0.5 ** runs["round"])
    pd.testing.assert_frame_equal(knob_effects(runs, plan), knob_effects(drifted, plan))


def test_a_row_without_a_valid_run_may_be_missing_until_effects_are_undetermined():
    plan = design(KNOBS, FOLDED)
    runs = measured(plan, {"b": 1.3})
    assert found_knobs(knob_effects(runs[runs["tuning"] != "row-03"], plan)) == ("b",)
    with refused(NetlabError, "E-SCREEN-003"):
        knob_effects(runs[runs["tuning"].isin(list(plan.rows)[:5])], plan)
    plan = design(KNOBS, LEAVE_ONE_OUT)
    runs = measured(plan, {"b": 1.3})
    with refused(NetlabError, "E-SCREEN-004"):
        knob_effects(runs[runs["tuning"] != "all-knobs"], plan)


@pytest.mark.parametrize("kind", [FULL, FOLDED, LEAVE_ONE_OUT])
def test_one_round_has_no_interval_and_finds_nothing(kind):
    plan = design(KNOBS[:3], kind)
    frame = knob_effects(measured(plan, {"b": 2.0}, 1), plan)
    assert frame[["low", "high"]].isna().all(axis=None)
    assert (frame["verdict"] == "no interval").all()
    assert least_set(frame) == ()


def test_two_knobs_that_replace_each_other_are_one_in_the_least_set():
    """Either of them doubles the goodput; leaving one out of all shows neither."""
    frames = []
    for kind in (FULL, LEAVE_ONE_OUT):
        plan = design(KNOBS[:4], kind)
        rates = {row: 500.0 * (1 + bool({"a", "c"} & {*on})) for row, on in plan.rows.items()}
        frames.append(knob_effects(rows_measured(rates, 4), plan))
    frame, alone = frames
    pair = frame[(frame["knob"] == "a") & (frame["with_knob"] == "c")].iloc[0]
    assert pair["ratio"] == pytest.approx(0.5, rel=0.05) and pair["verdict"] == "slower"
    assert len(least_set(frame)) == 1 and least_set(alone) == ()


def test_a_set_grows_by_the_largest_effect_and_never_by_one_that_costs():
    frame = pd.DataFrame(
        [
            ("a", "", 1.02, 0.9, 1.2, 1.0, "cannot tell"),
            ("b", "", 1.40, 1.2, 1.6, 0.01, "faster"),
            ("c", "", 1.09, 0.9, 1.3, 0.2, "cannot tell"),
            ("d", "", 0.98, 0.9, 1.1, 1.0, "cannot tell"),
            ("e", "", 0.70, 0.6, 0.8, 0.01, "slower"),
        ],
        columns=list(EFFECT_COLUMNS),
    )
    assert list(growing_sets(frame)) == [("b",), ("b", "c"), ("a", "b", "c")]
