"""Progress of a campaign: counts, a time left that does not jump, 100 % at the end alone."""

from __future__ import annotations

import warnings
from itertools import pairwise
from types import SimpleNamespace

import pytest
from measure.scripted import Clock

from netlab.experiment.adaptive import Look
from netlab.experiment.progress import Progress
from netlab.experiment.tally import DONE, PUBLISHING, STOPPED, Estimate, duration
from netlab.experiment.watcher import RunDone
from netlab.results.flags import remedy_of
from netlab.study.durations import VISIT_S


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


Visit = SimpleNamespace(round=1, path="cable", tuning="big", mtu_text="9000 B")


class Seen:
    """A display that notes what it is given."""

    def __init__(self):
        self.shown, self.notes, self.last = [], [], None

    def show(self, tally):
        self.shown.append((tally.percent, tally.left_s, tally.lines))

    def note(self, text):
        self.notes.append(text)

    def close(self, tally):
        self.last = (tally.stage, tally.percent, tally.lines)


RUN = RunDone("a-run", 744.4, 97.6, "")


def test_a_run_passes_through_a_message_whole():
    assert RunDone.parsed(RUN.text) == RUN
    row = {"run_id": "x", "goodput_MBps": float("nan"), "busiest_core_percent": None, "flags": None}
    assert RunDone.of(row) == RunDone("x")
    row |= {"goodput_MBps": 12.5, "busiest_core_percent": 3, "flags": "stalled"}
    assert RunDone.of(row) == RunDone("x", 12.5, 3.0, "stalled")


def test_work_beyond_the_estimate_stays_below_100_until_the_end():
    seen = Seen()
    with Progress(report=False, display=seen) as progress:
        progress.start(runs=2, kept=0, visits=1, seconds_per_run=0.123)
        progress.visit(Visit)
        for _ in range(5):
            progress.run_done(RUN)
    assert all(percent < 100 for percent, _, _ in seen.shown)
    assert progress.tally.work_s == pytest.approx(VISIT_S + 5 * 0.123)
    stage, percent, lines = seen.last
    assert (stage, percent) == (DONE, 100) and "5 of 5 runs, 100 %" in lines[0]


def test_a_stopped_campaign_does_not_end_at_100():
    seen = Seen()
    with pytest.raises(KeyboardInterrupt), Progress(report=False, display=seen) as progress:
        progress.start(runs=4, kept=0, visits=1, seconds_per_run=1.0)
        progress.run_done(RUN)
        raise KeyboardInterrupt
    assert seen.last[0] == STOPPED and seen.last[1] < 100


def test_runs_that_are_measured_again_are_added_and_announced():
    seen = Seen()
    progress = Progress(report=False, display=seen)
    progress.start(runs=4, kept=1, visits=1, seconds_per_run=2.0, again=True)
    before = progress.tally.work_s
    progress.run_done(RunDone("a", 1.0, 1.0, "interference", "steal 9 %"))
    assert progress.tally.work_s == before + 2.0  # expected, until it is known
    progress.again(runs=3, visits=1)
    assert progress.tally.work_s == before + 3 * 2.0 + VISIT_S
    assert progress.tally.runs == 7
    assert seen.notes == [
        "1 of 4 runs have a valid record and are kept",
        f"the first run flagged interference: steal 9 %; to do: {remedy_of('interference')}",
        "3 disturbed runs are measured again",
    ]  # fmt: skip


def test_the_state_has_block_run_figure_flags_precision_and_time():
    seen = Seen()
    progress = Progress(report=False, display=seen, clock=Clock())
    progress.start(runs=8, kept=0, visits=1, seconds_per_run=1.0, until="the test after round 4")
    progress.visit(Visit)
    progress.run_done(RUN)
    load = "foreign CPU load 9 %"
    progress.run_done(RunDone("b", None, None, "interference,stalled", load))
    progress.run_done(RunDone("c", 12.0, 50.0, "interference", "foreign CPU load 8 %"))
    # the cause once, not with every line
    assert seen.notes == [
        f"the first run flagged interference: {load}; to do: {remedy_of('interference')}",
        f"the first run flagged stalled: {load}; to do: {remedy_of('stalled')}",
    ]
    progress.look(Look(4, 140, 64, frozenset("x")), runs=2, visits=1)
    head, figures = progress.tally.lines
    assert head.startswith("Measuring: round 1, cable, big, 9000 B, 3 of 10 runs, ")
    assert head.endswith(" left")
    assert seen.shown[0][2][0].endswith("left to the test after round 4")
    assert figures == (
        "last run 12 MB/s, busiest core 50 %; 2 of 3 flagged; "
        "after round 4, 64 of 140 cells are precise enough, 1 go on"
    )


def test_publishing_follows_and_ends_at_100():
    seen = Seen()
    with Progress(display=seen) as progress:
        progress.start(runs=2, kept=0, visits=1, seconds_per_run=1.0)
        progress.run_done(RUN)
        progress.end()
        measured = progress.tally.percent
        progress.step("03-openlab-measured.ipynb", 0.8)
        assert progress.tally.stage == PUBLISHING and progress.tally.percent > measured
        progress.step("site", 0.2)
    assert seen.last[:2] == (DONE, 100)


def test_a_report_alone_shows_its_pages():
    seen = Seen()
    with Progress(display=seen) as progress:
        progress.step("14-claims.ipynb", 0.25)
    percent, _, lines = seen.shown[0]
    assert percent == 25 and lines[0].startswith("Publishing: 14-claims.ipynb, 25 %, ")


def test_the_time_left_runs_down_and_does_not_jump():
    """Blocks start with time in which no run ends; the estimate shown stays smooth over them."""
    clock = Clock()
    estimate = Estimate(clock)
    total, done, shown = 300.0, 0.0, []
    for _ in range(20):
        clock.now_s += 4.0  # tuning takes longer than expected
        done += 2.0
        shown.append((clock.now_s, estimate.left_s(done, total)))
        for _run in range(13):
            clock.now_s += 1.1
            done += 1.0
            shown.append((clock.now_s, estimate.left_s(done, total)))
    for (at, left), (later, then) in pairwise(shown[:-1]):
        passed = later - at
        assert abs(then - (left - passed)) <= max(3.0, 0.06 * left), (at, left, then)
    assert shown[-1][1] == 0
    halfway = shown[len(shown) // 2]
    assert halfway[1] == pytest.approx(shown[-1][0] - halfway[0], rel=0.25)


def test_the_time_left_to_every_test_of_precision_is_right_from_its_first_run_on():
    """Half the cells go on after a test, and a few runs of each round are measured again."""
    clock, seen, events = Clock(), Seen(), []
    visits, a_visit, run_s = 14, 10, 0.55

    def round_of(runs):
        for _ in range(visits):
            clock.now_s += 1.2
            progress.visit(Visit)
            for _ in range(runs):
                clock.now_s += run_s
                progress.run_done(RUN)
                events[-1].append((clock.now_s, progress.tally.left_s))

    def rounds_of(number, runs):
        events.append([])
        for _ in range(number):
            round_of(runs)
            progress.again(runs=3, visits=1)
            clock.now_s += 1.2
            progress.visit(Visit)
            for _ in range(3):
                clock.now_s += run_s
                progress.run_done(RUN)

    progress = Progress(display=seen, clock=clock)
    progress.start(4 * visits * a_visit, 0, 4 * visits, 0.6, until="the test after round 4")
    rounds_of(4, a_visit)
    progress.look(Look(4, 140, 70, frozenset("x")), 3 * visits * 5, 3 * visits, "that after 7")
    rounds_of(3, 5)
    progress.look(Look(7, 140, 100, frozenset("x")), 3 * visits * 3, 3 * visits, "that after 10")
    rounds_of(3, 3)
    for event in events:
        over = event[-1][0]
        for at, left in event:
            assert left == pytest.approx(over - at, rel=0.25, abs=8), (at, left)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min"), (190, "3 min 10 s"), (1799, "29 min"),
     (7500, "2 h 5 min")],
)  # fmt: skip
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text
