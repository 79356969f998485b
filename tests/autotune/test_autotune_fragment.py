"""The winner as YAML: a study takes it, and it says where it comes from."""

import pytest
import yaml
from autotune.simulated import tuned

from netlab.autotune.ask import default_study
from netlab.autotune.fragment import fragment_text, taken, write_fragment
from netlab.autotune.space import engine_options
from netlab.errors import BadInput
from netlab.study import Study, load


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
    assert set(yaml.safe_load(text)) == {"groups", "streams", *engine_options()}


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
