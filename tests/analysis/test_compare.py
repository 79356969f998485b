"""Two sets of runs are compared cell by cell, and a verdict follows from its interval alone."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab import study as studies
from netlab.analysis.compare import (
    CANNOT_TELL,
    FASTER,
    NO_INTERVAL,
    SAME,
    SLOWER,
    Asked,
    Compared,
    OtherRuns,
    _overall,
    compare,
    compare_all,
    holm,
    shift_of,
)
from netlab.analysis.effects import Ratio, mean_ratio_of
from netlab.analysis.fail_condition import Condition
from netlab.errors import BadInput, NetlabError

GROUPS = """
  - {name: one, path: rack, sender: left, congestion: cubic}
  - {name: two, path: rack, sender: left, congestion: reno}
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two groups, cubic and reno, with 1 and 64 streams, six rounds."""
    text = synthetic.FOREIGN.replace("rounds: 1", "rounds: 6")
    at = text.index("groups:")
    text = text[:at] + "groups:" + GROUPS + text[text.index("streams:") :]
    path = tmp_path_factory.mktemp("study") / "two-racks.yml"
    path.write_text(text)
    return studies.load(path)


def runs_of(study, campaign="c1", *, factor=1.0, noise=0.002, seed=1, drift=0.0, change=None):
    def value(_study, group, _tuning, _mtu_B, streams):
        return 100.0 * streams * (0.8 if group.congestion == "reno" else 1.0) * factor, "link"

    def changed(row):
        row["campaign"] = campaign
        row["goodput_MBps"] *= 1.0 if not drift else 0.5 + drift * row["round"]
        return None if change is None else change(row)

    return synthetic.runs_of(study, noise=noise, value=value, seed=seed, change=changed)


def test_a_small_change_is_the_same_a_large_one_has_its_direction_and_noise_leaves_it_open(study):
    a = runs_of(study)
    for factor, expected in ((1.01, SAME), (1.2, FASTER), (0.8, SLOWER)):
        found = compare(a, runs_of(study, "c2", factor=factor, seed=2))
        assert set(found.frame["verdict"]) == {expected}
        assert np.allclose(found.frame["ratio"], factor, atol=0.01)
        assert (found.frame["low"] < found.frame["ratio"]).all()
        assert (found.frame["ratio"] < found.frame["high"]).all()
        assert found.overall.low < factor < found.overall.high
        assert not found.frame["paired"].any()
    found = compare(runs_of(study, noise=0.3), runs_of(study, "c2", noise=0.3, seed=2))
    assert set(found.frame["reason"]) == {"the interval is too wide"}
    assert found.count(SAME) == 0 and found.count(CANNOT_TELL) == 4


def test_rounds_of_one_campaign_are_paired_and_their_drift_cancels(study):
    runs = runs_of(study, drift=0.3)
    cubic, reno = runs[runs["congestion"] == "cubic"], runs[runs["congestion"] == "reno"]
    found = compare(cubic, reno, by="congestion", one_store=True)
    assert found.frame["paired"].all() and set(found.frame["verdict"]) == {SLOWER}
    assert np.allclose(found.frame["ratio"], 0.8, atol=0.01)
    assert found.overall.low < 0.8 < found.overall.high < 0.82


def test_rounds_of_independent_campaigns_are_not_paired_though_their_numbers_coincide(study):
    a, b = runs_of(study, drift=0.3), runs_of(study, "c2", factor=1.1, seed=2, drift=0.3)
    for one_store in (False, True):
        found = compare(a, b, one_store=one_store)
        assert not found.frame["paired"].any()
        assert set(found.frame["verdict"]) == {CANNOT_TELL}
    same_id = b.assign(campaign="c1")
    assert not compare(a, same_id, one_store=False).frame["paired"].any()


def test_a_record_that_counts_on_both_sides_is_left_out(study):
    a = runs_of(study)
    new = runs_of(study, "c2", seed=2)
    b = pd.concat([a[a["streams"] == 1], new[new["streams"] == 64]])
    found = compare(a, b, one_store=True)
    assert found.shared == (a["streams"] == 1).sum()
    assert set(found.frame["streams"]) == {64}
    with refused(NetlabError, "E-ANALYSIS-022"):
        compare(a, a, one_store=True)


def test_results_without_a_common_cell_are_named_with_the_levels_that_differ(study):
    a, third = runs_of(study), runs_of(study, "c3", seed=3)
    third = third.assign(streams=third["streams"] + 1)
    others = [OtherRuns(runs_of(study, "c2", seed=2), label="two"), OtherRuns(third, label="three")]
    with refused(NetlabError, "E-ANALYSIS-022") as found:
        compare_all(a, Asked(), others, label="one")
    text = str(found.value)
    assert text.startswith("one (") and " and three (" in text and "two" not in text
    assert text.endswith(": streams 1, 64 against 2, 65")


def test_results_without_a_valid_run_are_named_with_the_flags_of_their_runs(study):
    a, b = runs_of(study), runs_of(study, "c2", seed=2).assign(flags="stalled")
    with refused(NetlabError, "E-ANALYSIS-022") as found:
        compare(a, b)
    count = len(b)
    assert f"(0 of {count} runs valid; flagged stalled {count})" in str(found.value)
    assert str(found.value).count("flagged") == 1


def test_a_third_side_that_is_imprecise_is_named_by_its_own_letter(study):
    a, b = runs_of(study), runs_of(study, "c2", seed=2)
    wide = runs_of(study, "c3", noise=0.05, seed=3)
    found = compare_all(a, Asked(), [OtherRuns(b), OtherRuns(wide, Asked(0.95, 0.5))])
    assert found[1].frame["reason"].str.startswith("C is within").all()


def test_a_cell_less_precise_than_asked_is_not_ranked(study):
    a, b = runs_of(study, noise=0.05), runs_of(study, "c2", factor=3.0, seed=2)
    free = compare(a, b)
    assert set(free.frame["verdict"]) == {FASTER} and free.frame["ranked"].all()
    asked = compare(a, b, asked=(Asked(0.95, 1.0), Asked(0.95, 50.0)))
    assert not asked.frame["ranked"].any()
    assert set(asked.frame["verdict"]) == {CANNOT_TELL}
    assert asked.frame["reason"].str.startswith("A is within").all()
    assert not asked.frame["reason"].str.contains("B is").any()
    assert asked.frame["low"].notna().all()  # the figures stay


@pytest.mark.parametrize("rounds", [1, 2])
def test_fewer_than_three_rounds_carry_no_verdict_however_alike(study, rounds):
    few = runs_of(study, noise=0.0, change=lambda row: row["round"] <= rounds)
    found = compare(few, runs_of(study, "c2", noise=0.0, factor=2.0))
    assert set(found.frame["verdict"]) == {NO_INTERVAL}
    assert found.frame["low"].isna().all() and not found.frame["ranked"].any()
    assert set(found.frame["reason"]) == {f"{rounds} and 6 valid runs, 3 of each are needed"}


def test_intervals_widen_with_the_number_of_cells(study):
    a, b = runs_of(study), runs_of(study, "c2", seed=2)
    four = compare(a, b).frame
    one = compare(a[(a["group"] == "one") & (a["streams"] == 1)], b)
    (row,) = one.frame.to_dict("records")
    same = four[(four["group"] == "one") & (four["streams"] == 1)].iloc[0]
    assert math.isclose(row["ratio"], same["ratio"])
    assert row["high"] - row["low"] < same["high"] - same["low"]
    assert math.isclose(one.cell_level, 0.95) and math.isclose(compare(a, b).cell_level, 0.9875)


def test_cells_of_one_side_are_listed_with_the_reason(study):
    def flagged(row):
        row["flags"] = "interference" if row["streams"] == 64 else ""
        return row["group"] == "one"

    found = compare(runs_of(study), runs_of(study, "c2", change=flagged))
    assert len(found.frame) == 1
    only = found.only.set_index(["group", "streams"])
    assert set(only["side"]) == {"A"} and len(only) == 3
    assert only.loc[("one", 64), "reason"] == "6 runs, none valid: interference"
    assert only.loc[("two", 1), "reason"] == "not measured"


def test_a_factor_with_one_level_on_each_side_is_compared_and_named(study):
    a = runs_of(study, change=synthetic.only(group=("one",)))
    found = compare(a, runs_of(study, "c2", change=synthetic.only(group=("two",))))
    assert {"group", "congestion"} <= set(found.apart["item"])
    assert "group" not in found.keys and len(found.frame) == 2
    assert set(found.frame["verdict"]) == {SLOWER}


def test_levels_that_vary_within_a_cell_identify_it(study):
    runs = runs_of(study)
    length = runs["group"].map({"one": 1000, "two": 2000})
    a = runs.assign(record_length_B=length, group="all")
    found = compare(a, a)
    # the record length follows from the congestion control, so it identifies no cell
    assert "congestion" in found.keys and "record_length_B" not in found.keys
    assert len(found.frame) == 4


def test_groups_that_would_merge_are_refused(study):
    a, b = (runs_of(study, campaign).assign(congestion="cubic") for campaign in ("c1", "c2"))
    with refused(NetlabError, "E-ANALYSIS-023", match="'one', 'two'"):
        compare(a, b.assign(group="other"))


def test_cells_are_sorted_by_verdict_then_by_size(study):
    factors = {("one", 1): 0.5, ("one", 64): 2.0, ("two", 1): 0.2, ("two", 64): 1.0}
    found = compare(runs_of(study), times(runs_of(study, "c2", seed=2), factors)).frame
    assert found["verdict"].tolist() == [SLOWER, SLOWER, FASTER, SAME]
    assert found["ratio"].round(1).tolist() == [0.2, 0.5, 2.0, 1.0]


def times(runs, factors):
    """The runs with the goodput of each group and stream count times a factor."""
    of_run = [factors[key] for key in zip(runs["group"], runs["streams"], strict=True)]
    return runs.assign(goodput_MBps=runs["goodput_MBps"] * of_run)


@pytest.mark.parametrize("bound", [0, -1, 100, math.nan])
def test_a_bound_that_cannot_be_is_refused(study, bound):
    with refused(BadInput, "E-ANALYSIS-021"):
        compare(runs_of(study), runs_of(study), same_within_percent=bound)


def test_a_bound_may_be_a_whole_number_of_numpy(study):
    found = compare(runs_of(study), runs_of(study, "c2"), same_within_percent=np.int64(5))
    assert found.frame["verdict"].eq(SAME).all()


ratios = st.floats(0.2, 5.0)


@given(ratios, ratios, st.floats(0.1, 50))
def test_a_verdict_says_where_its_interval_lies(one, other, bound):
    low, high = sorted((one, other))
    found = Ratio(1.0, low, high).verdict(bound)
    if found == SAME:
        assert low >= 1 - bound / 100 and high <= 1 + bound / 100
    elif found == CANNOT_TELL:
        assert low <= 1 <= high
    else:
        assert (low > 1) == (found == FASTER) and (high < 1) == (found == SLOWER)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.001, 0.2))
def test_holm_rejects_what_its_steps_reject(p, alpha):
    """The definition: go from the smallest p on, compare with alpha over the number left, stop."""
    rejected = set()
    for step, at in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        if p[at] * (len(p) - step) >= alpha:
            break
        rejected.add(at)
    assert {at for at, value in enumerate(holm(p)) if value < alpha} == rejected
    assert holm([0.01, math.nan]) == pytest.approx([0.02, math.nan], nan_ok=True), "it counts too"


def with_one_close_call(study):
    """Four cells: three are 30 % slower, one by 3 of its standard errors."""
    factors = {("one", 1): 0.7, ("one", 64): 0.7, ("two", 1): 0.7, ("two", 64): 0.9}

    def close(row):
        if (row["group"], row["streams"]) == ("two", 64):
            row["goodput_MBps"] *= math.exp(0.069 * (row["round"] - 3.5) / 1.87)

    a, b = runs_of(study, change=close), runs_of(study, "c2", seed=2, change=close)
    return a, times(b, factors)


def test_a_difference_leaves_its_share_of_the_error_to_the_other_cells(study):
    a, b = with_one_close_call(study)
    found = compare(a, b).frame.set_index(["group", "streams"])
    row = found.loc[("two", 64)]
    assert 0.05 / 4 < row["p_holm"] < 0.05 and row["low"] < 1 < row["high"]
    assert row["ranked"] and not row["reason"] and (found["verdict"] == SLOWER).all()
    # alone with cells that do not differ, the same cell cannot be told
    others = ~((b["group"] == "two") & (b["streams"] == 64))
    b.loc[others, "goodput_MBps"] = a.loc[others, "goodput_MBps"].to_numpy()
    row = compare(a, b).frame.set_index(["group", "streams"]).loc[("two", 64)]
    assert row["verdict"] == CANNOT_TELL and row["p_holm"] > 0.05


@pytest.mark.parametrize("paired", [False, True])
def test_the_p_value_is_that_of_the_t_test_of_the_logarithms(study, paired):
    a = runs_of(study, noise=0.05)
    b = runs_of(study, "c1" if paired else "c2", factor=1.05, noise=0.05, seed=2)
    one = [side[(side["group"] == "one") & (side["streams"] == 1)] for side in (a, b)]
    if paired:
        one[1] = one[1].assign(tuning="other", run_id=one[1]["run_id"] + "b")
    frame = compare(*one, by="tuning" if paired else "", one_store=paired).frame
    logs = [np.log(side.sort_values("round")["goodput_MBps"].to_numpy(float)) for side in one]
    test = scipy.stats.ttest_rel if paired else scipy.stats.ttest_ind
    expected = test(logs[1], logs[0], **({} if paired else {"equal_var": False})).pvalue
    assert frame["p_holm"].tolist() == pytest.approx([expected])


def test_a_difference_that_repeated_campaigns_show_as_well_is_not_decided(study):
    a, *repeats = (runs_of(study, f"a{n}", factor=f) for n, f in enumerate((1.0, 1.03, 0.98, 1.01)))
    shift = shift_of([a, *repeats], 0.95)
    assert shift.campaigns == 4 and 5 < shift.percent < 15
    for factor, words in ((1.08, {CANNOT_TELL}), (1.3, {FASTER})):
        b = runs_of(study, "b", factor=factor, seed=2)
        assert set(compare(a, b).frame["verdict"]) == {FASTER}
        found = compare(a, b, shift=shift)
        assert set(found.frame["verdict"]) == words and found.between
        assert found.frame["ranked"].all() == (words == {FASTER})
        open_ = found.frame["reason"].str.contains("a shift between campaigns of up to")
        assert open_.all() == (words == {CANNOT_TELL})
    assert not compare(a, a.assign(tuning="other"), by="tuning").between


@pytest.mark.parametrize("others", [0, 1])
def test_two_campaigns_do_not_estimate_a_shift(study, others):
    with pytest.raises(BadInput) as refused:
        shift_of([runs_of(study, f"a{n}") for n in range(1 + others)], 0.95)
    assert refused.value.code == "E-ANALYSIS-044"


ROWS = {
    "slow": (0.80, 0.75, 0.85, "slower", True),
    "a little slow": (0.93, 0.88, 0.97, "slower", True),
    "alike": (1.00, 0.98, 1.02, "the same", True),
    "open": (1.00, 0.80, 1.30, "cannot tell", True),
    "fast": (1.40, 1.30, 1.50, "faster", True),
    "slow and not ranked": (0.50, 0.40, 0.60, "cannot tell", False),
    "no interval": (0.50, math.nan, math.nan, "no interval", False),
}


@pytest.fixture
def compared():
    columns = ["ratio", "low", "high", "verdict", "ranked"]
    frame = pd.DataFrame.from_dict(ROWS, orient="index", columns=columns)
    frame = frame.rename_axis("group").reset_index()
    only = pd.DataFrame({"group": ["lost"], "side": ["A"], "reason": ["not measured"]})
    apart = pd.DataFrame({"item": [], "a": [], "b": []})
    return Compared(frame, ("group",), only, apart, Ratio(1, 1, 1), 0.95, 0.99, 5.0)


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("slower", ["slow", "a little slow"]),
        ("slower > 5 %", ["slow"]),
        ("slower > 2.5%", ["slow", "a little slow"]),
        ("  slower  >   15  % ", []),
        ("faster > 20 %", ["fast"]),
        ("faster > 30 %", []),
        ("cannot tell", ["open", "slow and not ranked", "no interval"]),
        ("no interval", ["no interval"]),
        ("not the same", [name for name in ROWS if name != "alike"]),
        ("ratio < 0.9", ["slow"]),
        ("ratio > 1.2", ["fast"]),
        ("missing", ["lost"]),
    ],
)
def test_a_condition_is_met_by_the_cells_whose_whole_interval_meets_it(compared, text, cells):
    assert Condition.parse(text).met_by(compared)["group"].tolist() == cells


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "slow", "slower 5 %", "slower > 5", "slower >= 5 %", "slower < 5 %"),
        *("slower > -5 %", "slower > 100 %", "slower > nan %", "slower > 1e3 %", "slower>5%"),
        *("SLOWER", "cannot  tell > 5 %", "the same", "ratio < 0", "ratio < 5 %", "ratio = 1"),
        *("slower > 5 %; faster", "slower or faster", "slower > 5 % x", "slower > ٥ %"),
    ],
)
def test_anything_else_is_refused(text):
    with refused(BadInput, "E-ANALYSIS-031"):
        Condition.parse(text)


@given(st.text(max_size=30))
def test_no_text_is_read_as_something_it_is_not(text):
    try:
        found = Condition.parse(text)
    except BadInput:
        return
    assert found.text.split()[0] in {"slower", "faster", "cannot", "not", "missing", "ratio"}


def test_the_overall_interval_is_that_of_the_geometric_means_of_rounds_that_all_cells_have():
    rng, sides = np.random.default_rng(5), []
    for _ in "AB":
        cells = [pd.Series(rng.lognormal(3, 0.2, 9), index=[*"abcdefab", lost]) for lost in "gh"]
        cells = [cell.rename(lambda label: f"r@{label}") for cell in cells]
        logs = [np.log(cell).groupby(level=0).mean() for cell in cells]
        every = pd.concat(logs, axis=1, join="inner").mean(axis=1)
        sides.append((cells, every, np.mean([np.log(cell).mean() for cell in cells])))
    (a, of_a, mean_a), (b, of_b, mean_b) = sides
    found = _overall(list(zip(a, b, strict=True)), 0.9)
    expected = mean_ratio_of((of_b - of_a).to_numpy(), 0.9)
    shift = math.exp(mean_b - mean_a) / expected.ratio
    assert len(of_a) == 6
    wanted = (expected.ratio * shift, expected.low * shift, expected.high * shift)
    assert (found.ratio, found.low, found.high) == pytest.approx(wanted, rel=1e-12)
