"""MLRsearch over simulated cells: whose limit a bound is, and trials that are flagged or stored."""

from __future__ import annotations

import importlib.util
import math
from collections import Counter
from dataclasses import dataclass, field

import pandas as pd
import pytest
from lab_study import lab_study
from refusals import refused

from netlab.errors import BadInput, NetlabError
from netlab.search.mlrsearch import run as run_search
from netlab.search.mlrsearch.bounds import HEADS, bounds_table
from netlab.search.mlrsearch.run import searched
from netlab.search.mlrsearch.search import HIGHEST, PATH, RECEIVER, SENDER, CellSearch, Goals
from netlab.study import Study
from netlab.study.schedule import Run

SIZE_B, MOST_MBPS = 1472, 5.0
MOST_PER_S = MOST_MBPS * 1e6 / SIZE_B
GOALS = Goals(duration_sum_s=5.0)


@dataclass
class SimulatedCell:
    """Trials of a cell whose sender, path and receiver each carry so many datagrams a second."""

    sender: float = math.inf
    path: float = math.inf
    receiver: float = math.inf
    flags: dict[int, str] = field(default_factory=dict)
    bursts: frozenset[int] = frozenset()
    stalls: frozenset[int] = frozenset()
    taken: list[Run] = field(default_factory=list)

    def take(self, run: Run) -> dict:
        self.taken.append(run)
        (_, each_MBps), seconds = run.levels[-1], run.study(STUDY).timing.seconds
        due = each_MBps * run.streams * 1e6 / SIZE_B
        number = len(self.taken)
        sent = min(due * (0.9 if number in self.stalls else 1.0), self.sender)
        carried = min(sent, self.path) * (0.99 if number in self.bursts else 1.0)
        received = min(carried, self.receiver)
        return {
            "sent_datagrams": round(sent * seconds),
            "skipped_datagrams": round(due * seconds) - round(sent * seconds),
            "lost_percent": 100 * (1 - round(received * seconds) / round(sent * seconds)),
            "socket_drops": round(carried * seconds) - round(received * seconds),
            "flags": self.flags.get(number, ""),
            "message": "foreign CPU load 40 %" if number in self.flags else "",
        }


def udp(group: dict | None = None, **changes) -> Study:
    """A study of two streams of datagrams that together have the highest rate."""
    content = lab_study(name="rates").model_dump(mode="json")
    own = {"generator": "udp", "record_length_B": SIZE_B, "streams": None, "tunings": None}
    own |= {"mtus_B": None, "direction": "->"}
    groups = [content["groups"][0] | own | (group or {})]
    rate = {"streams": [2], "socket": {"pacing_MBps": MOST_MBPS / 2}}
    return Study.model_validate(content | {"groups": groups, **rate, **changes})


STUDY = udp()


def search(cell: SimulatedCell, goals: Goals = GOALS, study: Study = STUDY) -> list[dict]:
    run = searched(study)[0].runs[0]
    return list(CellSearch(study, run, goals, cell.take).rows())


def test_bounds_of_each_goal_lie_around_what_the_path_carries():
    path = 0.37 * MOST_PER_S
    strict, loose = search(SimulatedCell(path=path))
    for row in (strict, loose):
        assert row["limit"] == PATH and row["message"] == ""
        assert row["upper_per_s"] * 0.995 <= row["lower_per_s"] < row["upper_per_s"]
        assert row["lower_MBps"] == pytest.approx(row["lower_per_s"] * SIZE_B / 1e6)
        assert row["throughput_per_s"] == pytest.approx(path, rel=0.006)
    assert strict["lower_per_s"] <= path * 1.001 and strict["upper_per_s"] > path
    assert strict["throughput_per_s"] == strict["lower_per_s"]  # nothing of it was lost
    assert path < loose["lower_per_s"] <= path / 0.994 and loose["upper_per_s"] > path / 0.996
    assert strict["trials"] == loose["trials"] < 30 and strict["trials_s"] == strict["trials"]


def test_a_trial_is_a_run_of_its_own_load_and_length_without_a_warm_up():
    cell = SimulatedCell(path=0.37 * MOST_PER_S)
    search(cell, Goals(loss_percent=(0.0,), trial_s=4.0, duration_sum_s=8.0))
    run = searched(STUDY)[0].runs[0]
    ids = Counter(trial.run_id for trial in cell.taken)
    assert set(ids.values()) == {1} and all(name.startswith(run.cell_id) for name in ids)
    timings = [trial.study(STUDY).timing for trial in cell.taken]
    assert {timing.warmup_at() for timing in timings} == {0.0}
    assert {timing.seconds for timing in timings} >= {1.0, 4.0}
    first, *_, last = cell.taken
    assert first.levels[-1] == ("pacing_MBps", MOST_MBPS / 2)  # of each of two streams
    assert f"@pacing_MBps={last.levels[-1][1]:.6g}@{last.round}" in last.run_id
    assert first.study(STUDY).socket.pacing_MBps == MOST_MBPS / 2


@pytest.mark.parametrize(
    ("ends", "limit"),
    [
        ({"sender": 0.3, "path": 0.4}, SENDER),
        ({"receiver": 0.3, "path": 0.4}, RECEIVER),
        ({"sender": 0.4, "path": 0.3}, PATH),
        ({}, HIGHEST),
    ],
)
def test_a_rate_of_an_end_is_never_reported_as_the_paths(ends, limit):
    rates = {name: share * MOST_PER_S for name, share in ends.items()}
    for row in search(SimulatedCell(**rates)):
        assert row["limit"] == limit
        of_path = [row["upper_per_s"], row["throughput_per_s"], row["throughput_MBps"]]
        assert all(math.isnan(rate) == (limit != PATH) for rate in of_path)
        # what did pass is a lower bound of the path in any case
        assert row["lower_per_s"] == pytest.approx(min([MOST_PER_S, *rates.values()]), rel=0.011)


def test_bad_trials_of_less_than_the_exceed_ratio_do_not_move_the_bounds():
    path = 0.37 * MOST_PER_S
    bursts = frozenset(range(3, 200, 3))
    for row in search(SimulatedCell(path=path, bursts=bursts), Goals(duration_sum_s=21.0)):
        assert row["limit"] == PATH and row["lower_per_s"] == pytest.approx(path, rel=0.011)


def test_a_flagged_trial_is_measured_again_and_then_ends_the_search_of_its_cell():
    once = SimulatedCell(path=0.37 * MOST_PER_S, flags={2: "interference"})
    assert [row["limit"] for row in search(once)] == [PATH, PATH]
    assert once.taken[1].run_id == once.taken[2].run_id
    twice = SimulatedCell(path=0.37 * MOST_PER_S, flags={2: "interference", 3: "interference"})
    frame = pd.DataFrame(search(twice))
    assert frame["lower_MBps"].isna().all() and (frame["trials"] == 1).all()
    assert frame["message"].str.contains("is flagged interference: foreign CPU load").all()
    assert frame.columns.tolist() == pd.DataFrame(search(once)).columns.tolist()


def test_a_sender_that_stalled_for_a_moment_is_not_a_limit():
    path = 0.37 * MOST_PER_S
    stalled = SimulatedCell(path=path, stalls=frozenset(range(1, 200, 2)))
    assert search(stalled) == search(steady := SimulatedCell(path=path))
    assert len(stalled.taken) == 2 * len(steady.taken)


def test_the_same_results_lead_to_the_same_trials():
    """This is what a search that goes on after an interruption relies on."""
    first, again = (SimulatedCell(path=0.37 * MOST_PER_S) for _ in range(2))
    assert search(first) == search(again) and first.taken == again.taken


def test_the_table_shows_rates_as_text_and_its_data_unrounded():
    frame = pd.DataFrame(search(SimulatedCell(sender=0.3 * MOST_PER_S)))
    table = bounds_table(frame)
    (heads,), rows = table.texts()
    assert heads[-2:] == ["limit", "trials"] and rows[0][heads.index("upper, MB/s")] == "–"
    assert table.csv_text().splitlines()[0] == ",".join(frame.columns)
    assert HEADS.keys() < set(frame.columns)
    assert "cell" not in heads
    other = frame.assign(cell="far@found@lines@4@record_length_B=82@gso=True", group="lines")
    alone = frame.assign(cell="far@found@probes@1@record_length_B=82@gso=True", group="probes")
    named = bounds_table(pd.concat([frame[:0], other, alone])).texts()[1]
    assert [row[1:3] for row in named] == [["lines", "4"]] * 2 + [["probes", "1"]] * 2


@pytest.mark.parametrize(
    "goals",
    [
        {"loss_percent": (0.0, 100.0)},
        {"width_percent": 0.0},
        {"exceed_percent": 100.0},
        {"trial_s": 0.0},
        {"trial_s": 30.0},
    ],
)
def test_goals_that_the_library_refuses_are_bad_input(goals):
    with refused(BadInput, "E-AUTOTUNE-018"):
        Goals(**goals).config(MOST_PER_S)


def test_a_study_needs_datagrams_and_one_highest_rate():
    with refused(BadInput, "E-AUTOTUNE-024"):
        searched(udp(group={"generator": "netlab"}, socket={}))
    with refused(BadInput, "E-AUTOTUNE-025"):
        searched(udp(socket={}, factors={"pacing_MBps": [1.0, 2.0]}))
    with refused(BadInput, "E-AUTOTUNE-026"):
        searched(udp(outer={"kernel": ["smp", "up"]}))
    with refused(BadInput, "E-AUTOTUNE-029", match="give it, such as 1472"):
        searched(udp({"record_length_B": 0}))
    each = {"generator": "netlab", "factors": {"generator": ["udp", "netlab"]}}
    (only,) = searched(udp(each, streams=[1]))[0].runs
    assert only.group.generator == "udp"


def test_without_the_library_a_sentence_says_how_to_install_it(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with refused(NetlabError, "E-AUTOTUNE-023", match="pip install"):
        run_search.mlrsearch(STUDY, GOALS, tmp_path, say=print)
