"""A search in words, as a table and as JSON with every run."""

import json
import math

import pytest
import yaml
from search.autotune.simulated import Simulated, tuned

from netlab.errors import BadInput
from netlab.files.writing import write_json
from netlab.search.autotune.candidates import ENGINE_WORDS, Candidate
from netlab.search.autotune.report import (
    COLUMNS,
    as_json,
    conclusion,
    fragment_text,
    gained,
    table,
    taken,
    to_text,
    write_fragment,
)
from netlab.search.autotune.request import default_study, objective
from netlab.study import Study, load


def test_no_better_than_the_start_is_reported_with_the_nearest():
    best = Candidate(1 << 19, 0, 4)
    found = tuned(start=best)
    assert conclusion(found).startswith("no better than what you had: records of 512 KiB")
    assert yaml.safe_load(fragment_text(found, "x"))["groups"][0]["record_length_B"] == 1 << 19


def test_no_conclusion_names_the_load_of_the_machine():
    found = tuned(Simulated(spoil=lambda *_: "interference"))
    assert "no conclusion" in conclusion(found)
    assert "--noisy" in conclusion(found)
    assert "0 of " in conclusion(found)


def test_a_winner_that_does_less_work_is_marked():
    def figure(candidate):
        return 100.0 * (1 + (candidate.receive == "discard"))

    found = tuned(Simulated(figure), levels={"receive": ("copy", "discard")})
    assert found.outcome.winner.discards
    assert "does not copy every byte" in conclusion(found)
    assert yaml.safe_load(fragment_text(found, "x"))["receive"] == "discard"
    assert "does not copy" not in conclusion(tuned())


def test_a_gain_is_positive_in_the_figures_own_direction():
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


def test_a_study_takes_the_winner(tmp_path):
    found = tuned()
    path = write_fragment(found, tmp_path / "best.yml", "best.json")
    study = taken(default_study(), path)
    (group,) = study.groups
    winner = found.outcome.winner
    assert winner != found.start
    assert (group.record_length_B, group.buffer_B) == (winner.record_length_B, winner.buffer_B)
    assert {streams for _, _, streams in study.levels(group)} == {winner.streams}
    assert study.receive == "copy"
    assert group.sender == "gen"
    # whole in a study file of its own, as `netlab check` reads it
    whole = tmp_path / "study.yml"
    whole.write_text(yaml.safe_dump(study.model_dump(mode="json")))
    assert load(whole) == study


def test_other_groups_and_keys_of_a_study_stay(tmp_path):
    study = default_study()
    content = study.model_dump(mode="python")
    content["groups"] = [*content["groups"], {**content["groups"][0], "name": "other"}]
    content["congestion"] = "reno"
    wide = type(study).model_validate(content)
    path = write_fragment(tuned(), tmp_path / "best.yml", "best.json")
    after = taken(wide, path)
    assert [group.name for group in after.groups] == ["gen -> sink", "other"]
    assert after.levels(after.groups[1]) == wide.levels(wide.groups[1])
    assert after.groups[1].record_length_B == wide.groups[1].record_length_B
    assert after.congestion == "reno"


def test_the_yaml_says_where_it_comes_from():
    text = fragment_text(tuned(), "best.json")
    comments = " ".join(line[2:] for line in text.splitlines() if line.startswith("# "))
    for said in (
        *("2026-01-01T00:00:00Z", "seed 7", "97 of 120 s used", "best.json", "A CPU: # of [many]"),
        *("Linux 6.1.0", "better than what you had", "runs valid", "MTU 1500", "what you had:"),
    ):
        assert said in comments
    assert set(yaml.safe_load(text)) == {"groups", "streams", *ENGINE_WORDS}


def test_a_fragment_that_no_study_could_take_is_bad_input(tmp_path):
    path = tmp_path / "bad.yml"
    for text, key in (
        *(("streams: [0]", "streams"), ("streams: [true]", "streams"), ("streams: 1", "streams")),
        *(("groups: 3", "groups"), ("none: 1", "none"), ("groups: [{buffer_B: 1}]", "groups")),
    ):
        path.write_text(text)
        with pytest.raises(BadInput, match=key):
            taken(default_study(), path)


def test_a_group_of_a_fixed_amount_sends_as_much_in_records_of_another_length(tmp_path):
    content = default_study().model_dump(mode="python")
    content["groups"] = [{**content["groups"][0], "records": 1000}]
    study = Study.model_validate(content)
    found = tuned(ask={"study": study})
    after = taken(study, write_fragment(found, tmp_path / "best.yml", "best.json")).groups[0]
    assert after.record_length_B != 65536
    assert after.records * after.record_length_B == pytest.approx(1000 * 65536, rel=0.02)


def test_another_direction_becomes_a_group_of_its_own(tmp_path):
    found = tuned(ask={"direction": "<->"})
    after = taken(default_study(), write_fragment(found, tmp_path / "best.yml", "best.json"))
    assert [group.direction for group in after.groups] == ["->", "<->"]
    assert after.groups[0].record_length_B == default_study().groups[0].record_length_B
