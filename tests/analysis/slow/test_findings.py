"""The findings of 2003 are tested, and contradicted where the runs contradict them."""

import pytest
import synthetic

from netlab.analysis.cells import Cells
from netlab.analysis.findings import STATEMENTS, findings, held, target

WINDOW = "One untuned stream is bound by its window or send buffer"
STREAMS = "More streams lift goodput without tuning"
KERNEL = "Kernel tuning (larger windows) lifts a single stream"
SMALL = "The smallest MTU is bound by the CPU"
BUS = "Jumbo frames, fully tuned, are bound by the bus"
JUMBO = "Jumbo frames are faster than the smallest MTU"
FLAT = "Fully tuned jumbo frames are flat over stream counts (within 10 %)"
BOTH = "Both directions together carry more than one"
SLOWER = "The path with the slower bus carries less"
SENDS = "The host with the slower bus receives faster than it sends"


def _verdicts(runs, study):
    table = findings(runs, study)
    assert len(table) == len(STATEMENTS)
    said = set(table["verdict"].str.replace(r"^\d+ rounds?: ", "", regex=True))
    assert said <= {"holds", "does not hold", "mixed", "cannot tell", "no interval"}
    assert table["evidence"].str.len().min() > 0
    return table.set_index("finding")


def _as_2003(study, group, tuning, mtu_B, streams):
    """Table shapes of 2003: all findings hold."""
    goodput, kind = synthetic.model(study, group, tuning, mtu_B, streams)
    if group.direction == "<->":
        goodput *= 0.55
    if group.sender == "linux32":
        goodput *= 0.8
    elif study.receiver(group) == "linux32":
        goodput *= 0.9
    return goodput, kind


def test_runs_shaped_as_in_2003_show_its_findings(openlab):
    seen = _verdicts(synthetic.runs_of(openlab, value=_as_2003, noise=0.002), openlab)
    wanted = [WINDOW, STREAMS, KERNEL, SMALL, JUMBO, FLAT, BOTH, SLOWER, SENDS]
    assert seen.loc[wanted, "verdict"].to_dict() == dict.fromkeys(wanted, "holds")
    assert seen.loc[WINDOW, "yes"] == 10 and "window in 10" in seen.loc[WINDOW, "evidence"]


def test_a_machine_that_shows_otherwise_is_reported_so(openlab):
    def upside_down(study, group, tuning, mtu_B, streams):
        goodput = {1500: 900.0, 9000: 600.0, 16114: 500.0}[mtu_B] / (1 + streams / 10)
        goodput /= {"none": 1.0, "kernel": 1.5, "full": 2.0}[tuning]
        if group.path == "64-64":
            goodput /= 2
        if group.direction == "<->":
            goodput /= 2
        return (goodput * (1.5 if group.sender == "linux32" else 1.0)), "CPU"

    said = _verdicts(synthetic.runs_of(openlab, value=upside_down, noise=0.002), openlab)
    wanted = [WINDOW, STREAMS, KERNEL, BUS, JUMBO, FLAT, BOTH, SLOWER, SENDS]
    assert said.loc[wanted, "verdict"].to_dict() == dict.fromkeys(wanted, "does not hold")
    assert said.loc[SMALL, "verdict"] == "holds"


def test_noise_alone_gives_no_finding(openlab):
    runs = synthetic.runs_of(openlab, value=lambda *_: (500.0, "CPU"), noise=0.05)
    said = _verdicts(runs, openlab)
    for finding in (STREAMS, KERNEL, JUMBO, BOTH, SENDS):
        assert said.loc[finding, "verdict"] == "cannot tell"
        assert said.loc[finding, "cannot_tell"] > said.loc[finding, ["yes", "no"]].sum()


def test_single_repeats_leave_comparisons_open_and_flagged_runs_give_no_finding(runs, openlab):
    said = _verdicts(runs[runs["round"] == 1], openlab)
    assert said.loc[STREAMS, "verdict"] == "1 round: no interval"
    assert said.loc[STREAMS, "cannot_tell"] == 10
    said = _verdicts(runs.assign(flags="stalled"), openlab)
    assert (
        set(said["verdict"]) == {"cannot tell"}
        and said[["yes", "no", "cannot_tell"]].sum().sum() == 0
    )


def test_a_study_without_an_answer_has_the_reason(foreign):
    said = _verdicts(synthetic.runs_of(foreign), foreign)
    assert "one MTU" in said.loc[SMALL, "evidence"]
    assert "nothing to compare" in said.loc[KERNEL, "evidence"]
    assert "no path joins hosts with different buses" in said.loc[SENDS, "evidence"]


@pytest.mark.parametrize(
    ("yes", "no", "of", "verdict"),
    [
        (0, 0, 0, "cannot tell"),
        (2, 1, 3, "holds"),
        (1, 2, 3, "does not hold"),
        (3, 2, 5, "mixed"),
        (1, 0, 2, "cannot tell"),
    ],
)
def test_a_verdict_needs_two_thirds_of_all_answers(yes, no, of, verdict):
    assert held(yes, no, of) == verdict


@pytest.mark.parametrize(
    ("share", "noise", "verdict"),
    [(0.9, 0.002, "met"), (0.5, 0.002, "not met"), (0.8, 0.05, "cannot tell")],
)
def test_the_target_is_met_only_by_a_whole_interval(openlab, foreign, share, noise, verdict):
    def value(study, group, tuning, mtu_B, streams):
        top = tuning == "full" and mtu_B == 16114 and streams == 4
        return (2128.0 * share if top else 100.0), "CPU"

    runs = synthetic.runs_of(openlab, value=value, noise=noise)
    (row,) = target(Cells()(runs, study=openlab), openlab).to_dict("records")
    assert row["group"] == "Linux64 -> Linux64" and row["target"] == 80.0
    assert row["verdict"] == verdict
    assert row["best_cell"] == "Driver Tuning, 16114 B, 4 Streams"
    assert row["low"] <= row["reached"] <= row["high"]
    two = target(Cells()(runs[runs["round"] < 3], study=openlab), openlab)
    assert two["verdict"].tolist() == ["2 rounds: no interval"]
    cells = Cells()(runs.assign(flags="failed"), study=openlab)
    assert target(cells, openlab)["verdict"].tolist() == ["cannot tell"], "without a valid run"
    assert target(Cells()(synthetic.runs_of(foreign), study=foreign), foreign).empty
