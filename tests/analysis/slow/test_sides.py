"""The sides of a comparison: directories, studies, campaigns, and levels of a factor."""

import json
import shutil

import pandas as pd
import pytest
import synthetic
from face_home import home_at
from refusals import refused

import netlab
from netlab import study as studies
from netlab.analysis.other_differences import differences
from netlab.analysis.sides import NetlabError, comparison, levels_of, side_of
from netlab.errors import BadInput
from netlab.files import paths
from netlab.report.compare import folded
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog
from netlab.results.store import Store
from netlab.study.frozen import freeze

FIRST, SECOND = "20260102T030405Z", "20260203T040506Z"


def measure(directory, study, campaign, *, seed, factor=1.0, adopted=None):
    """Add a made-up campaign to a directory of results."""

    def changed(row):
        row["campaign"] = campaign
        row["goodput_MBps"] *= factor
        row["started_at"] += pd.Timedelta(days=seed)
        return adopted is None or row["run_id"] not in adopted

    runs = synthetic.runs_of(study, noise=0.001, seed=seed, change=changed)
    digest = study.digest()
    kept = {f"{FIRST}~all@r1": tuple(adopted)} if adopted else {}
    log = CampaignLog(campaign, "k", "then", study.name, digest, "0.1.0", adopted=kept)
    campaign_files.write_log(directory, log)
    freeze(study, campaign_files.folder(directory, campaign))
    Store(directory).write(f"{campaign}~all@r1", runs, synthetic.intervals_of(runs[:0], study))
    return runs


@pytest.fixture
def study(tmp_path):
    file = synthetic.foreign_file(tmp_path)
    file.write_text(file.read_text().replace("rounds: 1", "rounds: 4"))
    return studies.load(file)


@pytest.fixture
def store(tmp_path, study):
    directory = tmp_path / "store"
    measure(directory, study, FIRST, seed=1)
    measure(directory, study, SECOND, seed=2, factor=1.5)
    return directory


def test_two_campaigns_of_one_directory_are_compared(store):
    found = comparison([f"{store}@{FIRST}", str(store)])
    assert (found.a.campaign, found.b.campaign) == (FIRST, SECOND)
    assert set(found.compared.frame["verdict"]) == {"faster"}
    assert not found.compared.frame["paired"].any() and found.compared.shared == 0
    third = "20260304T050607Z"  # without runs
    campaign_files.write_log(store, CampaignLog(third, "k", "t", "two-racks", "d", "0.1.0"))
    freeze(found.a.study, campaign_files.folder(store, third))
    with pytest.raises(NetlabError):
        side_of(f"{store}@{third}")


def test_an_adopted_record_is_not_compared_with_itself(tmp_path, study):
    old = measure(tmp_path, study, FIRST, seed=1)
    kept = set(old.loc[old["streams"] == 1, "run_id"])
    measure(tmp_path, study, SECOND, seed=2, factor=1.5, adopted=kept)
    found = comparison([f"{tmp_path}@{FIRST}", f"{tmp_path}@{SECOND}"]).compared
    assert found.shared == 4 and found.frame["streams"].tolist() == [64]


def test_the_face_has_superseded_records_only_on_request(store):
    every = netlab.Results(str(store), superseded=True)
    assert every.runs["superseded"].sum() == (~every.runs["superseded"]).sum() == 8
    assert set(every.runs["campaign"]) == {FIRST, SECOND}
    assert len(netlab.Results(str(store)).runs) == 8 and every.cells["n_valid"].sum() == 8


def test_levels_of_a_factor_are_paired_within_rounds_and_a_copy_elsewhere_is_not(tmp_path, store):
    found = comparison([store], by="streams=1,64").compared
    assert found.frame["paired"].all() and len(found.frame) == 1
    assert found.keys == ("group", "path", "sender", "direction", "tuning", "mtu_B")
    shutil.copytree(store, tmp_path / "copy")
    found = comparison([store, tmp_path / "copy"]).compared
    assert not found.frame["paired"].any() and found.shared == 0


def test_results_are_found_by_name_and_a_directory_may_contain_an_at(tmp_path, study, store):
    with pytest.MonkeyPatch.context() as patch:
        (tmp_path / "home").mkdir()
        home_at(tmp_path / "home", patch)
        named = paths.results_dir(study.name)
        shutil.copytree(store, named)
        assert side_of(study.name).directory == named
        assert side_of(f"{study.name}@{FIRST}").campaign == FIRST
    odd = tmp_path / "odd@place"
    shutil.copytree(store, odd)
    assert side_of(str(odd)).directory == odd
    assert side_of(f"{odd}@{FIRST}").given == f"{odd}@{FIRST}"


@pytest.mark.parametrize(
    ("given", "by", "code"),
    [
        (["STORE"], "", "E-ANALYSIS-029"),
        (["STORE", "STORE"], "streams=1,64", "E-ANALYSIS-029"),
        (["STORE", "STORE"], "", "E-ANALYSIS-030"),
        (["STORE", f"STORE@{SECOND}"], "", "E-ANALYSIS-030"),
        ([f"STORE@{FIRST}", "STORE@20200101T000000Z"], "", "E-RESULTS-029"),
        (["STORE"], "goodput_MBps=1,2", "E-ANALYSIS-027"),
        (["STORE"], "streams", "E-ANALYSIS-027"),
        (["STORE"], "streams=1", "E-ANALYSIS-028"),
        (["STORE"], "streams=1,1", "E-ANALYSIS-028"),
        (["STORE"], "streams=1,2", "E-ANALYSIS-028"),
        (["STORE", "nowhere"], "", "E-ANALYSIS-043"),
        (["STORE", "openlab-2003-quick"], "", "E-ANALYSIS-014"),
    ],
)
def test_incomparable_sides_are_refused_with_their_code(store, given, by, code):
    with refused(BadInput, code):
        comparison([text.replace("STORE", str(store)) for text in given], by=by)


def test_a_level_may_hold_a_comma():
    runs = pd.DataFrame({"group": ["a, b", "c", "b,c"]})
    assert levels_of("group=a, b,c", runs) == ("group", ("a, b", "c"))
    assert levels_of("group= b,c , a, b ", runs) == ("group", ("b,c", "a, b"))
    more = pd.DataFrame({"group": ["a, b", "c", "b,c", "a"]})
    with pytest.raises(BadInput, match="read in several ways"):
        levels_of("group=a, b,c", more)


def test_runs_of_one_level_alone_need_another_one_measured():
    with pytest.raises(BadInput, match="the runs have full alone: measure another level first"):
        levels_of("tuning=none,full", pd.DataFrame({"tuning": ["full", "full"]}))


def test_differences_name_versions_hosts_knobs_and_timing(study):
    def other(row):
        content = json.loads(row["provenance"])
        content["netlab"] = "9.9"
        content["agent_digest"] = "ab" * 32
        content["hosts"]["linux64-a"]["kernel"] = "7.0"
        row["provenance"] = json.dumps(content)
        row["knobs"] = json.dumps({"linux64-a": {"net.core.rmem_max": "1"}})
        row["buffer_B"] = 7

    longer = study.model_copy(update={"timing": study.timing.model_copy(update={"seconds": 9.0})})
    a, b = synthetic.runs_of(study), synthetic.runs_of(longer, change=other)
    found = differences(a, b, (study, longer)).set_index("item")
    assert found.loc["netlab version"].tolist() == ["0.1.0", "9.9"]
    assert found.loc["agent digest"].tolist() == ["5f" * 6, "ab" * 6]
    assert found.loc["linux64-a, kernel"].tolist() == ["6.12.0", "7.0"]
    assert found.loc["linux64-a, net.core.rmem_max"].tolist() == ["212992", "1"]
    assert found.loc["window, s"].tolist() == ["1.0", "9.0"]
    assert found.loc["socket buffer, B"].tolist() == ["0", "7"]
    assert "study digest" in found.index and "warm-up, s" not in found.index
    assert differences(a, a, (study, study)).empty
    with refused(NetlabError, "E-ANALYSIS-024"):
        differences(a.assign(provenance="{"), a)


def test_knobs_are_compared_tuning_by_tuning_or_between_the_two_compared(openlab, runs):
    quick = runs[runs["tuning"] != "kernel"].copy()
    full = quick["tuning"] == "full"
    quick.loc[full, "knobs"] = json.dumps({"linux64-a": {"net.core.rmem_max": "1"}})
    a, b = quick[~full], quick[full]
    by = differences(a, b, by="tuning")
    assert by["item"].tolist() == ["linux64-a, net.core.rmem_max"]
    changed = quick.assign(knobs=quick["knobs"].replace(r'"1"', '"2"', regex=True))
    assert differences(quick, changed)["item"].tolist() == [
        "linux64-a, net.core.rmem_max, tuning full"
    ]


def test_many_conditions_of_one_side_are_named_in_one_line(study):
    """A tuning of one's own records its knobs, `as-found` many more."""
    more = [f"net.ipv4.knob_{number}" for number in range(25)]

    def found(row):
        row["knobs"] = json.dumps({host: dict.fromkeys([*more, "mtu"], "1") for host in "ab"})

    def own(row):
        row["knobs"] = json.dumps({host: {"mtu": "9000", "ring rx": "64"} for host in "ab"})

    a, b = (synthetic.runs_of(study, change=change) for change in (found, own))
    shown, note = folded(differences(a, b))
    assert shown["item"].tolist() == ["a, mtu", "b, mtu", "a, ring rx", "b, ring rx"]
    assert note == f"50 conditions recorded in A only: {', '.join(more)}."


def test_the_face_compares_results_directories_and_levels(store, tmp_path):
    results = netlab.Results(str(store))
    found = results.compare(f"{store}@{FIRST}")
    assert set(found.frame["verdict"]) == {"slower"}  # the first campaign against the second
    shutil.copytree(store, tmp_path / "copy")
    alike = results.compare(netlab.Results(str(tmp_path / "copy")), same_within=1.0)
    assert set(alike.frame["verdict"]) == {"the same"} and alike.only.empty
    assert len(results.compare(by="streams=64,1").frame) == 1
    assert "What differs" in found._repr_html_() or "Of all recorded" in found._repr_html_()
    assert "Cell by cell" in repr(found) and "<script>" not in found._repr_html_()
    assert list(found.differences) == ["item", "a", "b"]
    with pytest.raises(BadInput):
        results.compare()
