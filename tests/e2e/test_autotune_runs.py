"""A search on a real lab path: its verdict, its budget, its files, its clean-up."""

import json
import os
import signal
import time
from pathlib import Path

import yaml
from lab_study import lab_study

from netlab.autotune.request import SearchRequest
from netlab.autotune.run import SLACK_S, autotune
from netlab.autotune.search import NO_CONCLUSION
from netlab.lab.lab import Lab
from netlab.lab.reaper import processes_in
from tests.e2e.conftest import run_netlab

BUDGET_S = 30
"""Enough for races over all factors, so that the last one is between their winners."""


def study_of(tmp_path, **group):
    content = lab_study(name="tuned").model_dump(mode="json")
    content["groups"][0].update(group)
    path = tmp_path / "tuned.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def search(tmp_path, study, *argv):
    """Search with a seed; foreign load counts, as a shared machine has little else."""
    began = time.monotonic()
    files = ("--output", str(tmp_path / "best.yml"), "--chart", str(tmp_path / "best.svg"))
    how = ("--study", str(study), "--seed", "5", "--noisy", "--seconds", str(BUDGET_S))
    done = run_netlab("autotune", "a-b", *how, *files, *argv)
    return done, time.monotonic() - began


def test_the_cost_is_searched_under_a_tuning_that_is_reverted(tmp_path, machine_untouched):
    levels = ("--record-length", "65536", "--buffer", "262144", "--streams", "1")
    how = ("--for", "cpu", "--engines", "all", "--tuning", "openlab-2003-normal", "--mtu", "9000")
    done, wall_s = search(tmp_path, study_of(tmp_path), *how, *levels)
    assert wall_s <= BUDGET_S + SLACK_S
    assert done.returncode in (0, 1), done.stderr  # 1: too few rounds for a conclusion
    document = json.loads((tmp_path / "best.json").read_text())
    assert document["mtu_B"] == 9000 and document["asked"]["tuning"] == "openlab-2003-normal"
    words = ("engine", "send", "receive")
    assert len({tuple(sample.get(word) for word in words) for sample in document["samples"]}) > 1
    measured = [sample["cpu_s_per_GB"] for sample in document["samples"] if sample["counted"]]
    assert measured and all(0 < cost < 100 for cost in measured)
    assert (done.returncode == 1) == ("no conclusion" in document["verdict"])


def test_a_host_that_hangs_does_not_hold_a_search_beyond_its_budget_and_slack():
    """The agent of the sink is stopped after a round: no later run gets an answer."""
    study, budget_s, stopped = lab_study(name="hangs"), 12.0, []
    with Lab.up(study) as lab:  # without an owner, so that the search uses it

        def say(line):
            if "round 1" in line and not stopped:
                for pid in processes_in([lab.namespace("b")]):
                    if b"agent" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                        os.kill(pid, signal.SIGSTOP)
                        stopped.append(pid)

        ask = SearchRequest(study, "a-b", seconds=budget_s, given={"streams": (1, 2)}, noisy=True)
        began_s = time.monotonic()
        tuned = autotune(ask, began_s=began_s, say=say)
        used_s = time.monotonic() - began_s
    assert len(stopped) == 1
    assert used_s <= budget_s + SLACK_S
    assert tuned.outcome.verdict == NO_CONCLUSION
    assert tuned.outcome.winner == tuned.start
    assert {s["code"] for s in tuned.outcome.samples if s["flags"] == "failed"} == {"timeout"}
