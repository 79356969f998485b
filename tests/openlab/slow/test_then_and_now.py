"""Findings of 2003 are compared with measured intervals; wide ones cannot tell."""

import math

import pandas as pd
import pytest
import synthetic
from hypothesis import given
from hypothesis import strategies as st
from openlab_study import changed
from synthetic import measured

from netlab.analysis.measured import from_frames
from netlab.files.yaml_file import validated
from netlab.openlab import published
from netlab.openlab import then_and_now as tn
from netlab.study import Study

PUBLISHED = {
    (row.table, row.tuning, row.mtu_B, row.streams): row.throughput_MBps
    for row in published.load("openlab-2003").itertuples()
}


def again(study, group, tuning, mtu_B, streams):
    """Twice what was published for the cell."""
    return 2 * PUBLISHED[group.table, tuning, mtu_B, streams], "bus"


def only_row(frame, **levels):
    (row,) = frame[(frame[[*levels]] == pd.Series(levels)).all(axis=1)].itertuples()
    return row


@pytest.fixture(scope="module")
def study():
    return synthetic.openlab()


@pytest.fixture(scope="module")
def same(study):
    """A study that measured 2003 again, with little noise."""
    return measured(study, value=again, noise=0.002)


def test_a_disturbed_cell_is_compared_as_an_empty_one_is(study):
    """However high it is."""

    def comparable(goodput_MBps):
        flagged = {"flags": "interference", "goodput_MBps": goodput_MBps}
        return tn.comparable(measured(study, change=synthetic.setting(flagged, streams=(20,))))

    disturbed, empty = comparable(1e6), comparable(math.nan)
    assert len(empty)
    pd.testing.assert_frame_equal(disturbed, empty)


@pytest.mark.parametrize(
    ("said", "expected", "intervals"),
    [
        ("rises", "holds", [(1.2, 1.4), (1.07, 1.4)]),
        ("rises", "cannot tell", [(1.01, 1.4), (math.nan, math.nan)]),
        ("rises", "does not hold", [(0.9, 1.05), (1.01, 1.02), (0.5, 0.7)]),
        ("falls", "holds", [(0.7, 0.8)]),
        ("falls", "cannot tell", [(0.7, 1.01), (math.nan, math.nan)]),
        ("falls", "does not hold", [(0.98, 1.3)]),
        ("stays", "holds", [(0.96, 1.05)]),
        ("stays", "cannot tell", [(0.9, 1.05)]),
        ("stays", "does not hold", [(1.07, 1.3), (0.5, 0.9)]),
    ],
)
def test_a_verdict_follows_from_the_interval(said, expected, intervals):
    assert {tn.verdict(said, low, high) for low, high in intervals} == {expected}
    assert abs(tn.BAND - 1.03 / 0.97) < 1e-12
    sides = [tn.side(r) for r in (1.07, 1.06, 1.0, 0.95, 0.94)]
    assert sides == ["rises", "stays", "stays", "stays", "falls"]


@given(
    said=st.sampled_from(("rises", "falls", "stays")),
    ratio=st.floats(0.5, 2),
    reach=st.tuples(*[st.floats(1, 1.5)] * 4),
)
def test_two_intervals_that_have_a_ratio_in_common_never_contradict_each_other(said, ratio, reach):
    ends = (reach[:2], reach[2:])
    verdicts = {tn.verdict(said, ratio / below, ratio * above) for below, above in ends}
    assert not verdicts >= {tn.HOLDS, tn.DOES_NOT_HOLD}


def test_every_cell_of_tables_2_to_6_is_comparable(same):
    cells = tn.comparable(same)
    assert len(cells) == len(tn.published_cells()) == 140
    assert sorted(cells["table"].unique()) == [2, 3, 4, 5, 6]
    row = only_row(cells, table=4, tuning="full", mtu_B=16114, streams=4)
    assert (row.then_MBps, row.then_ceiling_MBps, row.now_ceiling_MBps) == (283, 800, 1600)
    assert row.now_percent == pytest.approx(row.then_percent, rel=0.01)
    assert row.now_percent_low < row.now_percent < row.now_percent_high


def test_without_a_bus_the_recorded_ceiling_is_the_measured_one(study):
    hosts = {name: {"kind": "lab"} for name in study.hosts}
    plain = validated(Study, changed("hosts", hosts), "my.yml")

    change = synthetic.setting({"ceiling_MBps": 1000.0})
    cells = tn.comparable(measured(plain, value=again, change=change))
    assert set(cells["now_ceiling_MBps"]) == {1000.0}
    assert cells["now_percent"].tolist() == pytest.approx((cells["now_MBps"] / 10).tolist())


def test_a_cell_without_a_valid_run_or_of_another_direction_is_not_comparable(study):
    change = synthetic.setting({"flags": "stalled"}, table=(2,), streams=(20,))
    assert len(tn.comparable(measured(study, value=again, change=change))) == 140 - 7
    groups = [{**g.model_dump(mode="json"), "direction": "->"} for g in study.groups]
    turned = validated(Study, changed("groups", groups), "my.yml")
    assert sorted(tn.comparable(measured(turned, value=again))["table"].unique()) == [2, 4, 5]


def test_both_sides_numbers_are_those_of_the_cells(same):
    row = only_row(tn.compare(same), tables="2", step="1500 B to 9000 B", where="No Tuning")
    before, after = 170 * 388 * 460 * 398, 182 * 355 * 632 * 694
    assert row.then_ratio == pytest.approx((after / before) ** 0.25)
    assert row.then_from_percent == pytest.approx(100 * before**0.25 / 1064)
    assert row.then_low == pytest.approx(row.then_ratio * 0.97 / 1.03)
    assert row.now_ratio == pytest.approx(row.then_ratio, rel=0.01)
    assert row.now_low < row.now_ratio < row.now_high
    assert (row.cases, row.alike, row.said, row.verdict) == (4, 4, "rises", "holds")


def test_every_finding_holds_in_a_repeated_measurement(same):
    compared = tn.compare(same)
    assert set(compared["factor"]) == set(tn.STEP_FACTORS)
    assert len(compared) == 20 + 30 + 20 + 12
    assert "does not hold" not in set(compared["verdict"])
    clear = compared[(compared["then_ratio"] > 1.15) | (compared["then_ratio"] < 0.9)]
    assert len(clear) > 40 and set(clear["verdict"]) == {"holds"}


def test_a_finding_does_not_hold_in_its_contrary(study):
    def upside_down(*levels):
        """The fast cells of 2003 slow and the slow ones fast."""
        return 1e6 / again(*levels)[0], "bus"

    compared = tn.compare(measured(study, value=upside_down, noise=0.002))
    changes = compared[compared["said"] != "stays"]
    assert len(changes) > 50 and set(changes["verdict"]) == {"does not hold"}


def test_noise_and_single_repeats_give_no_verdict(study):
    compared = tn.compare(measured(study, value=lambda *_: (500.0, "bus"), noise=0.2))
    single = compared[compared["cases"] == 1]
    assert (single["verdict"] == "cannot tell").mean() > 0.8
    one = study.model_copy(update={"timing": study.timing.model_copy(update={"rounds": 1})})
    compared = tn.compare(measured(one, value=again))
    assert set(compared["verdict"]) == {"cannot tell"} and compared["now_ratio"].notna().all()
    assert compared[["now_low", "now_high"]].isna().all(axis=None)


def test_a_case_without_a_second_valid_run_is_left_out_on_both_sides(study):
    runs = synthetic.runs_of(study, value=again, noise=0.002)
    first = runs["round"].min()
    here = (runs["table"] == 2) & (runs["tuning"] == "none") & (runs["streams"] == 1)
    lone = here & (runs["mtu_B"] == 9000) & (runs["round"] > first)
    compared = tn.compare(from_frames(study, runs[~lone], None, None))
    row = only_row(compared, tables="2", step="1500 B to 9000 B", where="No Tuning")
    assert (row.cases, row.left_out) == (3, 1)
    assert row.then_ratio == pytest.approx((355 * 632 * 694 / (388 * 460 * 398)) ** (1 / 3))


MINE = {"name": "mine", "knobs": []}
NORMAL = {"name": "openlab-2003-normal"}


def with_tunings(levels):
    """The openlab study's content with other tunings, the same ones on every host."""
    content = changed("tunings", levels)
    del content["hosts"]["linux32"]["profiles"]
    return content


def test_a_level_pairs_with_the_published_tuning_that_it_repeats_whatever_its_name(study):
    levels = [
        {"name": "before", "profile": "openlab-2003-normal", "mtus_B": [1500]},
        {"name": "openlab-2003-full", "mtus_B": [1500]},
        {"name": "full", "knobs": [], "mtus_B": [1500]},
    ]
    part = validated(Study, with_tunings(levels), "my.yml")
    assert tn.published_tunings(part) == {"before": "none", "openlab-2003-full": "full"}
    cells = tn.comparable(measured(part))
    assert set(cells["tuning"]) == {"none", "full"} and len(cells) == 2 * 5 * 4
    assert tn.published_tunings(study) == {"none": "none", "kernel": "kernel", "full": "full"}


def test_the_steps_are_those_of_the_levels_that_both_have(study):
    levels = [
        {"name": "openlab-2003-normal", "mtus_B": [1500, 16114]},
        {"name": "full", "profile": "openlab-2003-full", "mtus_B": [16114, 1400]},
    ]
    content = with_tunings(levels) | {"streams": [4, 12, 64]}
    part = validated(Study, content, "my.yml")
    compared = tn.compare(measured(part, value=lambda *levels: (100.0 + levels[-1], "bus")))
    within = compared[compared["factor"] != "direction"]
    assert set(within["step"]) == {"4 to 12 streams"}
    assert set(within["where"]) == {"Driver Tuning, larger MTUs", "No Tuning, 1500 B"}


def test_a_study_without_tables_has_nothing_to_compare(tmp_path, foreign):
    m = measured(foreign)
    assert "states which of tables 2 to 6" in tn.nothing_because(m)
    compared = tn.compare(m)
    assert compared.empty and tuple(compared.columns) == tn.COMPARED_COLUMNS
    assert tn.summary(compared).empty


@pytest.mark.parametrize(
    ("key", "value", "because"),
    [
        ("streams", [2, 64], "the stream counts of this study (2, 64) do not occur in 2003"),
        ("tunings", [{**MINE, "mtus_B": [1500]}], "the tunings of this study (mine)"),
        ("tunings", [{**NORMAL, "mtus_B": [1400]}], "the MTUs in bytes of this study (1400)"),
    ],
)
def test_levels_that_2003_does_not_have_are_named(key, value, because):
    content = with_tunings(value) if key == "tunings" else changed(key, value)
    part = validated(Study, content, "my.yml")
    assert because in tn.nothing_because(measured(part))


def test_a_study_whose_runs_are_all_flagged_says_so(study):
    flagged = measured(study, change=synthetic.setting({"flags": "stalled"}))
    assert "has a valid run" in tn.nothing_because(flagged)


def test_a_finding_needs_two_thirds_of_the_groups():
    rows = pd.DataFrame(
        {"where": [*"xxxyyyzzz"], "factor": "tuning", "step": "a", "now_ratio": 1.0}
    )
    rows["then_ratio"], rows["said"] = [2.0, 0.5, 1.0] * 3, ["rises", "falls", "stays"] * 3
    rows["verdict"] = [
        *("holds", "holds", "cannot tell"),
        *("does not hold", "does not hold", "holds"),
        *("holds", "does not hold", "cannot tell"),
    ]
    found = tn.summary(rows)
    assert found["verdict"].tolist() == ["holds", "does not hold", "mixed"]
    assert found["then_ratio"].tolist() == pytest.approx([1.0] * 3)
    assert found[["rises", "falls", "stays"]].to_numpy().tolist() == [[1, 1, 1]] * 3
