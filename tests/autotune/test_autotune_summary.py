"""A search in words, as a table and as JSON with every run."""

import json
import math

import pytest
import yaml
from autotune.simulated import Simulated, tuned

from netlab.autotune.candidate import Candidate
from netlab.autotune.fragment import fragment_text
from netlab.autotune.objective import objective
from netlab.autotune.summary import COLUMNS, as_json, conclusion, gained, table, to_text
from netlab.files.json_file import write_json


def test_no_better_than_what_you_had_is_said_with_the_nearest():
    best = Candidate(1 << 19, 0, 4, (("receive", "copy"),))
    found = tuned(start=best)
    assert conclusion(found).startswith("no better than what you had: records of 512 KiB")
    assert yaml.safe_load(fragment_text(found, "x"))["groups"][0]["record_length_B"] == 1 << 19


def test_no_conclusion_says_what_the_machine_was_doing():
    found = tuned(Simulated(spoil=lambda *_: "interference"))
    assert "no conclusion" in conclusion(found)
    assert "--noisy" in conclusion(found)
    assert "0 of " in conclusion(found)


def test_a_winner_that_does_less_work_is_marked():
    def figure(candidate):
        return 100.0 * (1 + (dict(candidate.words)["receive"] == "discard"))

    found = tuned(Simulated(figure), levels={"receive": ("copy", "discard")})
    assert found.outcome.winner.discards
    assert "does not copy every byte" in conclusion(found)
    assert yaml.safe_load(fragment_text(found, "x"))["receive"] == "discard"
    assert "does not copy" not in conclusion(tuned())


def test_a_gain_is_told_in_the_figures_own_direction():
    more, less = objective("goodput"), objective("cpu")
    found = tuned()
    gap = found.outcome.gain
    factor = 100 * math.expm1(gap.mean)
    assert gained(more, gap).startswith(f"goodput {factor:+.1f} %")
    assert gained(less, gap).startswith("CPU time per byte -")
    low, high = gained(less, gap).split("(")[1].rstrip(")").replace(" %", "").split(" to ")
    assert float(low) < float(high)


@pytest.mark.parametrize("aim", ["goodput", "cpu"])
def test_the_table_has_a_row_for_each_candidate_of_each_race(aim):
    found = tuned(aim=aim)
    frame = table(found)
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == sum(len(stage.arms) for stage in found.outcome.stages)
    assert (frame["fate"] == "chosen").sum() == len(found.outcome.stages)
    out = frame[frame["fate"].str.startswith("out")]
    assert len(out) and (out["low_percent"] > 0).all()
    assert (out["low_percent"] <= out["worse_percent"]).all()
    if aim == "goodput":
        assert (out["high_percent"] <= 100).all()
    text = to_text(found)
    assert "what you had" in text and conclusion(found) in text


def test_the_json_holds_every_run(tmp_path):
    found = tuned()
    document = json.loads(write_json(tmp_path / "best.json", as_json(found)).read_text())
    assert document["netlab_autotune"] == 1
    assert len(document["samples"]) == len(found.outcome.samples)
    assert document["asked"]["seed"] == 7
    assert document["winner"]["streams"] == found.outcome.winner.streams
    assert document["not_tried"] == {"receive=splice": "receive is copy or discard"}
    assert {arm["candidate"]["streams"] for arm in document["stages"][-1]["arms"]} >= {1}
    assert document["gain"]["low"] < document["gain"]["high"]
