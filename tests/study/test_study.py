"""The openlab study is the report's design; a study's content has one digest."""

from __future__ import annotations

import copy
import math
from pathlib import Path

import pytest
import yaml
from openlab_study import CONTENT, OPENLAB, changed, study_with

from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.files.yaml_file import validated
from netlab.study import Study, load, slug
from netlab.study.factors import Factors
from netlab.study.shortened import short_form


def written(tmp_path: Path, content: dict) -> Path:
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_the_openlab_study_has_the_reports_140_cells_mtus_and_buses():
    study = load(OPENLAB)
    levels = sum(len(level.mtus_B) for level in study.tunings)
    assert levels * len(study.groups) == 35
    assert levels * len(study.groups) * len(study.streams) == 140
    assert study.streams == (1, 4, 12, 20)
    assert (study.min_rounds, study.max_rounds) == (4, 24)
    assert study.precision.half_width_percent == 5.0 and study.precision.budget == 1200.0
    study = load(OPENLAB)
    mtus_B = {level.name: level.mtus_B for level in study.tunings}
    assert mtus_B == {"none": (1500, 9000), "kernel": (1500, 9000), "full": (1500, 9000, 16114)}
    assert study.bus_MBps("64-64") == 2128.0
    assert study.bus_MBps("32-64") == 1600.0
    assert not study.bus_shared("64-64")
    assert study_with("hosts", "linux64-b", "bus", None).bus_MBps("64-64") is None
    either = study_with("hosts", "linux64-b", "bus", "shared", True)
    assert either.bus_shared("64-64") and not either.bus_shared("32-64")


def test_the_openlab_groups_and_arguments_are_those_of_the_report():
    study = load(OPENLAB)
    rows = [
        (group.table, group.sender, study.receiver(group), group.direction)
        for group in study.groups
    ]
    assert rows == [
        (2, "linux64-a", "linux64-b", "->"),
        (3, "linux64-a", "linux64-b", "<->"),
        (4, "linux32", "linux64-a", "->"),
        (5, "linux64-a", "linux32", "->"),
        (6, "linux32", "linux64-a", "<->"),
    ]
    groups = load(OPENLAB).groups
    assert {group.buffer_B for group in groups} == {262144}
    lengths = {group.table: group.record_length_B for group in groups}
    assert lengths == {2: 65536, 3: 262144, 4: 65536, 5: 65536, 6: 65536}


def test_a_host_takes_its_own_profile_where_it_has_one():
    study = load(OPENLAB)
    assert study.profile("linux32", "full") == "openlab-2003-full-linux32"
    assert study.profile("linux32", "none") == "openlab-2003-normal"
    assert study.profile("linux64-a", "full") == "openlab-2003-full"


def test_quick_takes_the_quick_timing_unless_another_is_given_and_says_so_in_the_name():
    study = load(OPENLAB, quick=True)
    assert study.name == "openlab-2003-quick"
    assert (study.timing.rounds, study.timing.seconds) == (3, 0.2)
    assert study.digest() != load(OPENLAB).digest()
    given = load(OPENLAB, quick=True, rounds=1, seconds=0.5)
    assert (given.timing.rounds, given.timing.seconds, given.timing.interval_ms) == (1, 0.5, 40)


@pytest.mark.parametrize("quick", [CONTENT["quick"], None])
def test_the_longest_name_has_a_short_form_that_takes_timing(tmp_path, quick):
    path = written(tmp_path, {**changed("name", "x" * 42), "quick": quick})
    assert load(path, quick=True, seed=1).name == "x" * 42 + "-quick"


def test_the_short_form_has_the_groups_that_are_for_it_with_their_own_amounts(tmp_path):
    groups = [
        {**CONTENT["groups"][0], "records": 1000, "quick_records": 60},
        {**CONTENT["groups"][1], "direction": "->", "records": 7},
        {**CONTENT["groups"][2], "short": False},
    ]
    path = written(tmp_path, changed("groups", groups))
    assert [group.records for group in load(path).groups] == [1000, 7, None]
    assert [group.records for group in load(path, quick=True).groups] == [60, 7]


def test_given_timing_replaces_the_files_and_none_leaves_it():
    study = load(OPENLAB, rounds=1, seconds=2, warmup_s=None, seed=7)
    assert study.timing.rounds == 1
    assert study.timing.seconds == 2.0
    assert study.timing.warmup_s == load(OPENLAB).timing.warmup_s
    assert study.seed == 7


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"second": 1}, "second"),
        ({"rounds": 0}, "timing.rounds"),
        ({"rounds": 2.0}, "timing.rounds"),
        ({"seconds": math.nan}, "timing.seconds"),
        ({"seconds": "1"}, "timing.seconds"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"interval_ms": 1}, "timing.interval_ms"),
    ],
)
def test_given_timing_that_cannot_be_used_is_refused(given, key):
    with pytest.raises(BadInput) as caught:
        load(OPENLAB, **given)
    assert caught.value.key == key


def test_the_digest_does_not_depend_on_layout_comments_or_the_order_of_keys(tmp_path):
    path = tmp_path / "other.yml"
    turned = dict(reversed(CONTENT.items()))
    turned["hosts"] = dict(reversed(CONTENT["hosts"].items()))
    text = yaml.safe_dump(turned, sort_keys=False, default_flow_style=True, width=10_000)
    path.write_text(f"# a comment\n{text}\n# another\n")
    assert load(path).digest() == load(OPENLAB, rounds=3).digest()
    one, point = (study_with("timing", "seconds", seconds).digest() for seconds in (1, 1.0))
    assert one == point


@pytest.mark.parametrize(
    "change",
    [
        ("seed", 2004),
        ("title", "Another"),
        ("timing", "seconds", 1.3),
        ("streams", [1, 4, 12]),
        ("streams", [4, 1, 12, 20]),
        ("groups", 0, "buffer_B", 0),
        ("paths", "64-64", "link", {"interrupt_delay_us": 0.0}),
    ],
)
def test_the_digest_changes_with_the_content(change):
    assert study_with(*change).digest() != load(OPENLAB).digest()


def test_a_study_cannot_be_changed():
    study = load(OPENLAB)
    with pytest.raises(ValueError, match="frozen"):
        study.seed = 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Linux64 -> Linux64", "linux64-to-linux64"),
        ("Linux64 <-> Linux64", "linux64-both-linux64"),
        ("  a/b\\c  ", "a-b-c"),
        ("Ωmega", "mega"),
        ("!!", ""),
    ],
)
def test_a_slug_is_fit_for_a_file_name(text, expected):
    assert slug(text) == expected


def test_the_options_of_sockets_are_read_and_one_cpu_may_be_a_number():
    asked = {"cpus_sender": 0, "cpus_receiver": "0,2-3", "dscp": 46, "pacing_MBps": 12.5}
    study = study_with("socket", asked)
    assert study.socket.model_dump(exclude_defaults=True) == {**asked, "cpus_sender": "0"}
    assert study_with("socket", {}).socket.model_dump(exclude_defaults=True) == {}


WITHOUT = {key: value for key, value in CONTENT.items() if key != "quick"}


def timed(tmp_path: Path, **timing: float) -> Path:
    """A study without ``quick``, with this timing."""
    return written(tmp_path, {**WITHOUT, "timing": timing})


def test_a_study_without_quick_has_fewer_and_shorter_runs_with_samples_enough(tmp_path):
    path = timed(tmp_path, rounds=5, seconds=8.0, warmup_s=1.5, interval_ms=100, drain_s=7.0)
    short = load(path, quick=True)
    assert short.name == "openlab-2003-quick"
    expected = {"rounds": 3, "seconds": 2.0, "warmup_s": 1.5, "interval_ms": 100, "drain_s": 7.0}
    assert short.timing.model_dump() == expected
    assert short.groups == load(path).groups
    assert load(path, quick=True, seconds=0.7).timing.seconds == 0.7
    assert load(timed(tmp_path, rounds=1), quick=True).timing.rounds == 1
    sampled = load(timed(tmp_path, seconds=1.0, interval_ms=1000), quick=True).timing
    assert sampled.interval_ms * 5 <= sampled.seconds * 1000


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.2, 0.2), (0.5, 0.5), (1.0, 0.5), (4.0, 1.0), (3600.0, 10.0)]
)
def test_a_short_run_has_a_quarter_of_the_seconds_within_limits(tmp_path, seconds, expected):
    assert load(timed(tmp_path, seconds=seconds), quick=True).timing.seconds == expected


def test_a_short_run_is_long_enough_for_the_loss_that_it_forces():
    slac = load(data_dir() / "studies" / "slac-2003.yml")
    assert any(group.force_loss_at_s is not None for group in slac.groups)
    at_s = 0.9 * slac.timing.seconds
    late = tuple(
        group.model_copy(update={"force_loss_at_s": at_s if group.force_loss_at_s else None})
        for group in slac.groups
    )
    short = short_form(slac.model_copy(update={"quick": None, "groups": late}), "slac")
    assert short.timing.seconds == slac.timing.seconds
    assert short.timing.rounds <= 3


@pytest.mark.parametrize(
    ("rtts_ms", "seconds"),
    [({}, 7.5), ({"rtt_ms": [183.0]}, 7.5), ({"rtt_ms": [1.0, 183.0]}, 30.0)],
)
def test_a_loss_within_the_warm_up_of_a_long_path_lengthens_no_short_run(rtts_ms, seconds):
    """The default warm-up is 20 RTTs: 3.66 s at 183 ms, and 7.5 s of window follow it."""
    slac = load(data_dir() / "studies" / "slac-2003.yml")
    timing = slac.timing.model_copy(update={"seconds": 30.0, "warmup_s": None})
    first = next(group for group in slac.groups if 0.183 <= slac.rtt_s(group.path) < 0.184)
    first = first.model_copy(update={"records": None, "timing": None, "quick": None})
    first = first.model_copy(update={"factors": Factors(**rtts_ms), "force_loss_at_s": 9.0})
    study = slac.model_copy(update={"timing": timing, "quick": None, "groups": (first,)})
    assert short_form(study, "slac").timing.seconds == seconds


@pytest.mark.parametrize(
    ("content", "key", "said"),
    [
        ({**WITHOUT, "name": "x" * 43}, "name", "shorten it to 42"),
        ({**WITHOUT, "name": "mine-quick"}, "name", "already"),
        (
            {**WITHOUT, "groups": [{**group, "short": False} for group in CONTENT["groups"]]},
            "groups",
            "no group",
        ),
    ],
)
def test_a_study_that_cannot_be_shortened_is_refused(tmp_path, content, key, said):
    path = written(tmp_path, content)
    assert load(path)
    with pytest.raises(BadInput, match=said) as caught:
        load(path, quick=True)
    assert caught.value.key == key


def study_of(generator: str, *, streams=(1, 4), congestion="cubic", **more) -> dict:
    content = copy.deepcopy(CONTENT)
    content["streams"], content["congestion"] = list(streams), congestion
    content["groups"] = [{**content["groups"][0], "generator": generator, **more}]
    return content


REFUSED = {
    "streams": ({"streams": (1, 129)}, ("iperf3", "nuttcp"), "at most 128 streams, not 129"),
    "record": ({"record_length_B": 2**20 + 1}, ("iperf3",), "at most 1048576 B, not 1048577"),
    "buffers": ({"receive_buffer_B": 65536}, ("iperf3",), "takes no receive_buffer_B"),
    "mixture": (
        {"congestion": "cubic+reno"},
        ("iperf3", "iperf2", "nuttcp"),
        "one congestion control, not 'cubic+reno'",
    ),
}


@pytest.mark.parametrize("generator", ["netlab", "iperf3", "iperf2", "nuttcp"])
@pytest.mark.parametrize("what", REFUSED)
def test_only_options_that_a_generator_lacks_are_refused(what, generator):
    change, unable, sentence = REFUSED[what]
    content = study_of(generator, **change)
    if generator not in unable:
        assert validated(Study, content, "my.yml").groups[0].generator == generator
        return
    with pytest.raises(BadInput, match="groups: Linux64 -> Linux64") as caught:
        validated(Study, content, "my.yml")
    assert f"{generator} " in str(caught.value) and sentence in str(caught.value)


def test_neper_takes_no_size_of_a_buffer():
    with pytest.raises(BadInput, match="neper takes no size of a buffer"):
        validated(Study, study_of("neper", buffer_B=65536), "my.yml")
    assert validated(Study, study_of("neper", buffer_B=0), "my.yml").generators("64-64")


def test_a_loss_is_timed_by_netlabs_own_start_alone():
    content = study_of("iperf2", force_loss_at_s=0.1)
    content["paths"]["64-64"]["link"] = {"emulator": {"rtt_ms": 10.0}}
    with pytest.raises(BadInput, match="start, so no loss can be timed"):
        validated(Study, content, "my.yml")
    content["groups"][0]["generator"] = "netlab"
    assert validated(Study, content, "my.yml").groups[0].force_loss_at_s == 0.1


def test_streams_that_a_group_leaves_out_do_not_count_against_its_tool():
    content = study_of("iperf3", streams=(1, 500))
    content["groups"][0]["streams"] = [1]
    assert validated(Study, content, "my.yml").generators("64-64") == ("iperf3",)


def test_a_path_names_the_tools_that_its_hosts_must_have():
    content = study_of("nuttcp")
    own = {**content["groups"][0], "name": "ours", "generator": "netlab"}
    content["groups"] += [own, {**content["groups"][0], "name": "again"}]
    study = validated(Study, content, "my.yml")
    assert study.generators("64-64") == ("nuttcp",)
    assert study.generators("32-64") == ()
