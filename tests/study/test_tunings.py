"""Tunings of a study: as found by default, its own inline or beside its file, frozen with it."""

from __future__ import annotations

import copy

import pytest
import yaml
from refusals import refused

from netlab.errors import BadInput
from netlab.files.yaml_file import validated
from netlab.study import Study, load
from netlab.study.frozen import freeze
from netlab.study.keys import provenance_key
from netlab.study.schedule import rounds, visit, visits
from netlab.tuning.knobs import Knob
from netlab.tuning.profiles import Profile

QUEUE = {"kind": "txqueuelen", "value": 5000}
WINDOW = {"kind": "sysctl", "name": "net.core.rmem_max", "value": 67108864}


def content(**changes) -> dict:
    """Two ssh hosts and no tunings, with changes; None drops a key."""
    base = {
        "netlab": 1,
        "name": "mine",
        "title": "My two machines",
        "hosts": {name: {"kind": "ssh", "address": name} for name in ("left", "right")},
        "paths": {
            "cable": {
                "ends": [
                    {"host": "left", "address": "192.0.2.1", "interface": "eth2"},
                    {"host": "right", "address": "192.0.2.2", "interface": "eth2"},
                ]
            }
        },
        "groups": [{"name": "left -> right", "path": "cable", "sender": "left"}],
        "streams": [1, 4],
    }
    return copy.deepcopy({**base, **changes})


def study(**changes) -> Study:
    return validated(Study, content(**changes), "mine.yml")


def refusal(**changes) -> str:
    with pytest.raises(BadInput) as caught:
        study(**changes)
    assert len(str(caught.value)) < 400
    return str(caught.value)


def values(profile) -> dict[str, str]:
    return {item.label: item.value for item in profile.items if isinstance(item, Knob)}


@pytest.fixture
def write(tmp_path):
    """Write YAML files below a directory; the path of the study's file."""

    def make(files: dict[str, dict], **changes):
        for name, given in files.items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(yaml.safe_dump(given))
        path = tmp_path / "mine.yml"
        path.write_text(yaml.safe_dump(content(**changes)))
        return path

    return make


def test_a_study_without_tunings_measures_its_hosts_as_found():
    plain = study()
    assert [(level.name, level.mtus_B) for level in plain.tunings] == [("as-found", None)]
    for host in plain.hosts:
        profile = plain.tuning_profile(host, "as-found")
        assert profile.items == () and "mtu" in {setting.label for setting in profile.records}
    planned = rounds(plain)[0][0]
    assert planned.mtu_B is None and planned.mtu_text == "MTU as found"
    assert planned.block_id == "cable@as-found@found"
    assert visit(plain, "cable@as-found@found") == planned


def test_a_tuning_beside_as_found_records_the_same_settings():
    """Else a comparison of the two has what one side alone recorded."""
    both = study(tunings=[{"name": "as-found"}, {"name": "queue", "knobs": [QUEUE]}])
    as_found, queue = (both.tuning_profile("left", level.name) for level in both.tunings)
    assert as_found.records == queue.records != () and as_found.items == ()
    alone = study(tunings=[{"name": "queue", "knobs": [QUEUE]}])
    assert alone.tuning_profile("left", "queue").records == ()


def test_a_tuning_without_mtus_leaves_the_mtu():
    plain = study(tunings=[{"name": "big", "knobs": [QUEUE]}, {"name": "openlab-2003-full"}])
    assert [planned.mtu_B for planned in rounds(plain)[0]] == [None, None]
    assert plain.levels(plain.groups[0])[0] == ("big", None, 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tunings": [{"name": "as-found", "mtus_B": [1500]}]}, "the MTU included"),
        ({"tunings": [{"name": "as-found", "knobs": [QUEUE]}]}, "changes nothing"),
        ({"tunings": [{"name": "as-found", "profile": "openlab-2003-full"}]}, "changes nothing"),
        ({"tunings": [{"name": "x", "profile": "as-found"}]}, "changes nothing"),
        ({"profiles": {"as-found": {"knobs": [QUEUE]}}}, "changes nothing"),
        (
            {"hosts": {**content()["hosts"], "left": {"kind": "ssh", "address": "l",
             "profiles": {"as-found": "openlab-2003-full"}}}},
            "hosts.left.profiles.as-found",
        ),
        (
            {"tunings": [{"name": "openlab-2003-full", "mtus_B": [9000]}],
             "hosts": {**content()["hosts"], "left": {"kind": "ssh", "address": "l",
             "profiles": {"openlab-2003-full": "as-found"}}}},
            "the MTU included",
        ),
    ],
)  # fmt: skip
def test_as_found_cannot_be_made_to_change_anything(changes, words):
    assert words in refusal(**changes)


def test_one_host_may_stay_as_found_while_the_other_is_tuned():
    hosts = content()["hosts"]
    hosts["right"]["profiles"] = {"big": "as-found"}
    half = study(hosts=hosts, tunings=[{"name": "big", "knobs": [QUEUE]}])
    assert values(half.tuning_profile("left", "big")) == {"txqueuelen": "5000"}
    assert half.tuning_profile("right", "big").items == ()


def test_a_tuning_inline_in_its_level_needs_no_source():
    own = study(tunings=[{"name": "big", "mtus_B": [9000], "knobs": [QUEUE, WINDOW]}])
    profile = own.tuning_profile("left", "big")
    assert values(profile) == {"txqueuelen": "5000", "net.core.rmem_max": "67108864"}
    assert {knob.source for knob in profile.items} == {"the study"}
    assert own.tunings[0].mtus_B == (9000,)


def test_a_tuning_under_profiles_may_extend_another_and_serve_one_host():
    hosts = content()["hosts"]
    hosts["left"]["profiles"] = {"openlab-2003-full": "bigger"}
    own = study(
        hosts=hosts,
        tunings=[{"name": "openlab-2003-full"}],
        profiles={
            "big": {"extends": "openlab-2003-full", "knobs": [WINDOW]},
            "bigger": {"extends": "big", "knobs": [QUEUE]},
        },
    )
    profile = own.tuning_profile("left", "openlab-2003-full")
    assert profile.lineage[-3:] == ("openlab-2003-full", "big", "bigger")
    got = values(profile)
    assert got["net.core.rmem_max"] == "67108864" and got["ring rx"] == "2048"
    assert own.tuning_profile("right", "openlab-2003-full").name == "openlab-2003-full"


def test_a_choice_inline_is_read_and_its_knobs_need_no_source():
    choice = {
        "parameter": "RxIntDelay",
        "published": 0,
        "first_supported": [{"knobs": [{"kind": "coalesce", "name": "rx-usecs", "value": 0}]}],
    }
    (item,) = study(tunings=[{"name": "x", "knobs": [choice]}]).tuning_profile("left", "x").items
    assert item.first_supported[0].knobs[0].source == "the study"


def test_tunings_are_searched_inline_then_beside_the_file_then_in_netlab(write):
    level = [{"name": "openlab-2003-full"}]

    def knob(value):
        return {"knobs": [{"kind": "txqueuelen", "value": value}]}

    def taken(files: dict, **changes) -> Profile:
        path = write(files, **{"tunings": level, **changes})
        return load(path).tuning_profile("left", "openlab-2003-full")

    assert taken({}).value_of("ring", "rx") == "2048"
    for value, files, changes in (
        ("4", {"openlab-2003-full.yml": knob(4)}, {}),
        ("3", {"tunings/openlab-2003-full.yml": knob(3)}, {}),
        ("2", {}, {"profiles": {"openlab-2003-full": knob(2)}}),
        ("1", {}, {"tunings": [{**level[0], **knob(1)}]}),
    ):
        assert taken(files, **changes).value_of("txqueuelen") == value


def test_a_file_named_as_found_is_never_taken(write):
    path = write({"tunings/as-found.yml": {"knobs": [QUEUE]}})
    assert load(path).tuning_profile("left", "as-found").items == ()


def test_a_tuning_beside_the_file_may_extend_one_beside_it(write):
    files = {
        "tunings/a.yml": {"name": "a", "extends": "b", "knobs": [QUEUE]},
        "b.yml": {"extends": "openlab-2003-normal", "knobs": [WINDOW]},
    }
    own = load(write(files, tunings=[{"name": "mine", "profile": "a"}]))
    assert own.tuning_profile("left", "mine").lineage == ("openlab-2003-normal", "b", "a")


def test_neither_the_study_itself_nor_another_is_taken_for_a_tuning(write):
    path = write({"other.yml": content()}, tunings=[{"name": "mine"}])
    with pytest.raises(BadInput, match=r":\d+: tunings\.0: unknown tuning 'mine'"):
        load(path)
    path = write({}, tunings=[{"name": "other"}])
    with pytest.raises(BadInput, match=r"tunings\.0: unknown tuning 'other'"):
        load(path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"knobs": [{"kind": "mtoo", "value": 1}]}, ["big.yml", "knobs.0", "mtoo"]),
        ({"name": "small", "knobs": []}, ["big.yml", "name", "small"]),
        ({"knots": []}, ["big.yml", "knots"]),
    ],
)
def test_a_bad_tuning_beside_the_file_is_refused_by_its_own_name(write, given, words):
    path = write({"tunings/big.yml": given}, tunings=[{"name": "big"}])
    with pytest.raises(BadInput) as caught:
        load(path)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"tunings": [{"name": "kernel"}]},
            ["tunings.0: unknown tuning 'kernel'", "openlab-2003-kernel"],
        ),
        ({"tunings": [{"name": "none"}]}, ["unknown tuning 'none'; known: as-found, esnet-100g"]),
        ({"tunings": [{"name": "as-foun"}]}, ["the nearest: as-found"]),
        (
            {"tunings": [{"name": "bigger", "profile": "bi"}], "profiles": {"big": {}}},
            ["tunings.0: unknown tuning 'bi'", "the nearest: big"],
        ),
        (
            {"tunings": [{"name": "x", "extends": "openlab-2003-ful"}]},
            ["tunings.0.extends: unknown tuning 'openlab-2003-ful'", "openlab-2003-full"],
        ),
        ({"profiles": {"a": {"extends": "b"}, "b": {"extends": "a"}}}, ["extend each other"]),
        ({"tunings": [{"name": "a", "knobs": []}], "profiles": {"a": {}}}, ["given twice"]),
        ({"tunings": [{"name": "a", "knobs": [], "profile": "as-found"}]}, ["inline", "by name"]),
        ({"tunings": [{"name": "a", "knobs": [QUEUE, QUEUE]}]}, ["txqueuelen", "twice"]),
        ({"tunings": [{"name": "a", "knobs": [{**QUEUE, "value": "x"}]}]}, ["tunings.0.knobs.0"]),
        ({"congestion": "cubik"}, ["congestion: unknown", "'cubik'; the nearest: cubic"]),
        ({"congestion": "reno+bbr9"}, ["unknown congestion control 'bbr9'", "{law: kernel}"]),
        (
            {"groups": [{**content()["groups"][0], "congestion": "scalble"}]},
            ["groups.0.congestion: unknown", "the nearest: scalable"],
        ),
    ],
)
def test_unknown_or_contradicting_tunings_are_refused_with_the_nearest_names(changes, words):
    said = refusal(**changes)
    assert all(word in said for word in words), said
    assert "found {" not in said


def test_tunings_that_do_not_resolve_have_codes(write):
    with refused(BadInput, "E-STUDY-086"):
        load(write({}, tunings=[{"name": "kernel"}]))
    with refused(BadInput, "E-STUDY-087"):
        load(write({}, profiles={"a": {"extends": "a"}}))


def test_a_host_cannot_have_a_tuning_for_a_level_that_the_study_lacks():
    hosts = content()["hosts"]
    hosts["left"]["profiles"] = {"ful": "openlab-2003-full"}
    said = refusal(hosts=hosts, tunings=[{"name": "full", "profile": "openlab-2003-full"}])
    assert "hosts.left.profiles.ful: unknown tuning of the study; the nearest: full" in said


def test_a_congestion_control_of_the_hosts_kernels_alone_is_declared():
    assert study(congestion="bbr9", stacks={"bbr9": {"law": "kernel"}}).congestions() == ("bbr9",)
    assert "no parameters" in refusal(stacks={"bbr9": {"law": "kernel", "gamma": 0.5}})


def test_the_digest_covers_the_content_of_the_tunings_and_not_their_remarks(write):
    def digest(value, **more):
        knob = {"kind": "txqueuelen", "value": value, **more}
        return study(tunings=[{"name": "big", "knobs": [knob]}]).digest()

    assert digest(1) != digest(2)
    assert digest(1) == digest("1", source="a page", note="a remark")
    path = write({"tunings/big.yml": {"knobs": [QUEUE]}}, tunings=[{"name": "big"}])
    first = load(path).digest()
    assert first == study(tunings=[{"name": "big", "knobs": [QUEUE]}]).digest()
    write({"tunings/big.yml": {"knobs": [{**QUEUE, "value": 1}]}}, tunings=[{"name": "big"}])
    assert load(path).digest() != first


def test_the_digest_covers_the_content_of_netlabs_tunings(write, tmp_path, monkeypatch):
    path = write({"tunings/x.yml": {"name": "x", "title": "t", "source": "s", "knobs": []}})
    shipped = tmp_path / "tunings" / "x.yml"
    text = shipped.read_text()
    (tmp_path / "tunings" / "as-found.yml").write_text(text.replace("name: x", "name: as-found"))
    (tmp_path / "elsewhere").mkdir()
    path = path.rename(tmp_path / "elsewhere" / "mine.yml")
    path.write_text(yaml.safe_dump(content(tunings=[{"name": "x"}])))
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    before = load(path).digest()
    knob = "knobs: [{kind: mtu, value: 1400, source: s}]"
    shipped.write_text(text.replace("knobs: []", knob))
    assert load(path).digest() != before


def test_a_frozen_copy_runs_without_the_files_its_tunings_came_from(write, tmp_path):
    files = {
        "tunings/a.yml": {"extends": "b", "knobs": [QUEUE]},
        "tunings/b.yml": {"extends": "openlab-2003-normal", "knobs": [WINDOW]},
    }
    levels = [{"name": "first", "profile": "a"}, {"name": "in", "knobs": [QUEUE]}]
    path = write(files, tunings=[*levels, {"name": "as-found"}])
    measured = load(path)
    frozen = freeze(measured, tmp_path / "results")
    for name in files:
        (tmp_path / name).unlink()
    again = load(frozen)
    assert again.digest() == measured.digest()
    assert set(again.profiles) == {"a", "b", "openlab-2003-normal"}
    for level in ("first", "in", "as-found"):
        assert again.tuning_profile("left", level) == measured.tuning_profile("left", level)
    context = {"version": "0"}
    for one, other in zip(visits(measured), visits(again), strict=True):
        assert one == other
        assert provenance_key(measured, one, one.runs[0], context) == provenance_key(
            again, other, other.runs[0], context
        )
