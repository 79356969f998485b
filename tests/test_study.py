"""A study file is read whole or refused with one message; its content has one digest."""

from __future__ import annotations

import copy
import math

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netlab import study as studies
from netlab.errors import BadInput
from netlab.paths import data_dir
from netlab.study import Study, load, slug
from netlab.yamlfile import read_yaml, validated

OPENLAB = data_dir() / "studies" / "openlab-2003.yml"
CONTENT = read_yaml(OPENLAB)


def changed(*path_and_value):
    """The openlab study's content with one value set; the last argument is the value."""
    *path, last, value = path_and_value
    content = copy.deepcopy(CONTENT)
    place = content
    for part in path:
        place = place[part]
    place[last] = value
    return content


def refusal(content) -> BadInput:
    with pytest.raises(BadInput) as caught:
        validated(Study, content, "my.yml")
    message = str(caught.value)
    assert message.startswith("my.yml: ")
    assert "\n" not in message
    assert len(message) < 400
    return caught.value


# The committed design of the 2003 report.


def test_the_openlab_study_has_the_reports_140_cells():
    study = load(OPENLAB)
    levels = sum(len(level.mtus_B) for level in study.tunings)
    assert levels * len(study.groups) == 35
    assert levels * len(study.groups) * len(study.streams) == 140
    assert study.streams == (1, 4, 12, 20)
    assert study.timing.repeats == 3


def test_the_openlab_groups_are_those_of_chapter_4():
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


def test_the_openlab_arguments_are_those_of_sections_3_2_and_4_1_3():
    groups = load(OPENLAB).groups
    assert {group.buffer_B for group in groups} == {262144}
    lengths = {group.table: group.record_length_B for group in groups}
    assert lengths == {2: 65536, 3: 262144, 4: 65536, 5: 65536, 6: 65536}


def test_the_openlab_mtus_and_buses():
    study = load(OPENLAB)
    mtus_B = {level.name: level.mtus_B for level in study.tunings}
    assert mtus_B == {"none": (1500, 9000), "kernel": (1500, 9000), "full": (1500, 9000, 16114)}
    assert study.bus_MBps("64-64") == 2128.0
    assert study.bus_MBps("32-64") == 1600.0
    assert not study.bus_shared("64-64")


def test_a_host_takes_its_own_profile_where_it_has_one():
    study = load(OPENLAB)
    assert study.profile("linux32", "full") == "full-linux32"
    assert study.profile("linux32", "none") == "none"
    assert study.profile("linux64-a", "full") == "full"


def test_the_slower_bus_is_unknown_when_one_bus_is():
    content = changed("hosts", "linux64-b", "bus", None)
    assert validated(Study, content, "my.yml").bus_MBps("64-64") is None


def test_a_shared_bus_at_either_end_is_shared():
    content = changed("hosts", "linux64-b", "bus", "shared", True)
    study = validated(Study, content, "my.yml")
    assert study.bus_shared("64-64")
    assert not study.bus_shared("32-64")


# Bad input.

END = ("paths", "64-64", "ends", 0)
BAD = {
    "version 2": (("netlab", 2), "netlab", 2),
    "version true": (("netlab", True), "netlab", True),
    "version 1.0": (("netlab", 1.0), "netlab", 1.0),
    "unknown key": (("colour", "red"), "colour", "red"),
    "unknown nested key": (("timing", "second", 3), "timing.second", 3),
    "unknown host key": (("hosts", "linux32", "os", "x"), "hosts.linux32.os", "x"),
    "kind": (("hosts", "linux32", "kind", "vm"), "hosts.linux32.kind", "vm"),
    "negative seconds": (("timing", "seconds", -1.0), "timing.seconds", -1.0),
    "zero seconds": (("timing", "seconds", 0), "timing.seconds", 0),
    "endless seconds": (("timing", "seconds", math.inf), "timing.seconds", math.inf),
    "seconds as text": (("timing", "seconds", "1"), "timing.seconds", "1"),
    "seconds as bool": (("timing", "seconds", True), "timing.seconds", True),
    "a day a run": (("timing", "seconds", 86400), "timing.seconds", 86400),
    "negative warm-up": (("timing", "warmup_s", -0.1), "timing.warmup_s", -0.1),
    "warm-up as bool": (("timing", "warmup_s", False), "timing.warmup_s", False),
    "repeats as bool": (("timing", "repeats", True), "timing.repeats", True),
    "repeats as float": (("timing", "repeats", 3.0), "timing.repeats", 3.0),
    "repeats as text": (("timing", "repeats", "3"), "timing.repeats", "3"),
    "no repeats": (("timing", "repeats", 0), "timing.repeats", 0),
    "absurd repeats": (("timing", "repeats", 10**30), "timing.repeats", 10**30),
    "interval below 10 ms": (("timing", "interval_ms", 9), "timing.interval_ms", 9),
    "bool stream": (("streams", [1, True]), "streams.1", True),
    "no stream": (("streams", [0]), "streams.0", 0),
    "absurd streams": (("streams", [1_000_000]), "streams.0", 1_000_000),
    "streams as text": (("streams", "1,4"), "streams", "1,4"),
    "tiny MTU": (("tunings", 0, "mtus_B", [68]), "tunings.0.mtus_B.0", 68),
    "huge MTU": (("tunings", 0, "mtus_B", [65536]), "tunings.0.mtus_B.0", 65536),
    "MTU as float": (("tunings", 0, "mtus_B", [1500.0]), "tunings.0.mtus_B.0", 1500.0),
    "record of nothing": (("groups", 0, "record_length_B", 0), "groups.0.record_length_B", 0),
    "record of 1 GiB": (("groups", 0, "record_length_B", 2**30), "groups.0.record_length_B", 2**30),
    "negative buffer": (("groups", 0, "buffer_B", -1), "groups.0.buffer_B", -1),
    "absurd buffer": (("groups", 0, "buffer_B", 2**40), "groups.0.buffer_B", 2**40),
    "table as bool": (("groups", 0, "table", True), "groups.0.table", True),
    "absurd table": (("groups", 0, "table", 10**30), "groups.0.table", 10**30),
    "over 100 %": (("groups", 0, "target_percent_of_bus", 101.0), None, 101.0),
    "direction": (("groups", 0, "direction", "<-"), "groups.0.direction", "<-"),
    "group without letters": (("groups", 0, "name", "(!)"), "groups.0.name", "(!)"),
    "infinite bus": (("hosts", "linux32", "bus", "bandwidth_MBps", math.inf), None, math.inf),
    "negative bus": (("hosts", "linux32", "bus", "bandwidth_MBps", -1), None, -1),
    "rate": (("paths", "64-64", "link", {"rate_Mbps": -1.0}), "paths.64-64.link.rate_Mbps", -1.0),
    "congestion": (("congestion", "cubic; id"), "congestion", "cubic; id"),
    "seed": (("seed", 2**63), "seed", 2**63),
    "negative seed": (("seed", -1), "seed", -1),
    "confidence": (("confidence", 95), "confidence", 95),
    "receive": (("receive", "splice"), "receive", "splice"),
    "force as int": (("force_buffer", 1), "force_buffer", 1),
    "blank in name": (("name", "a b"), "name", "a b"),
    "path in name": (("name", "../x"), "name", "../x"),
    "newline in name": (("name", "x\n"), "name", "x\n"),
    "long name": (("name", "x" * 49), "name", "x" * 49),
    "endless title": (("title", "x" * 201), "title", "x" * 201),
    "half a character": (("title", "\ud800"), "title", "\ud800"),
    **{
        f"interface {name!r}": (
            (*END, {"host": "linux64-a", "interface": name}),
            "paths.64-64.ends.0.interface",
            name,
        )
        for name in ("eth:0", "a/b", ".", "..", "x" * 16, "a b", "eth0\n", "", "ethö", 3, "$(id)\t")
    },
    **{
        f"address {address!r}": (
            (*END, {"host": "linux64-a", "address": address}),
            "paths.64-64.ends.0.address",
            address,
        )
        for address in (
            *("localhost", "10.0.0", "10.0.0.256", "10.0.0.1/24", 1, "", "::1::2", "0.0.0.0"),
            *("::", "224.0.0.1", "255.255.255.255", "ff02::1", "10.0.0.1; id"),
        )
    },
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_value_is_named_with_its_key(name):
    change, key, value = BAD[name]
    error = refusal(changed(*change))
    assert error.key == (key or ".".join(str(part) for part in change[:-1]))
    assert error.value == value
    assert type(error.value) is type(value)


@pytest.mark.parametrize("place", [("timing", "seconds"), ("confidence",)])
def test_nan_is_no_number(place):
    error = refusal(changed(*place, math.nan))
    assert error.key == ".".join(place)
    assert math.isnan(error.value)


@pytest.mark.parametrize("key", ["netlab", "name", "title", "hosts", "paths", "groups", "streams"])
def test_a_missing_key_is_named(key):
    content = copy.deepcopy(CONTENT)
    del content[key]
    assert str(refusal(content)) == f"my.yml: {key}: Field required"


@pytest.mark.parametrize("key", ["title", "hosts", "groups", "timing", "seed"])
@pytest.mark.parametrize(
    ("value", "found"), [(None, "nothing"), ([[]], "a list"), ({"a": {}}, None)]
)
def test_a_value_of_another_shape_is_named(key, value, found):
    error = refusal(changed(key, value))
    assert error.key.split(".")[0] == key
    if found and key not in ("hosts", "groups"):
        assert f"(found {found})" in str(error)


SENTENCES = {
    "unknown host": ((*END, "host", "linux65"), "paths.64-64: no host is called 'linux65'"),
    "one host twice": ((*END, "host", "linux64-b"), "not 'linux64-b' twice"),
    "unknown path": (("groups", 0, "path", "a-b"), "no path is called 'a-b'"),
    "sender elsewhere": (("groups", 0, "sender", "linux32"), "'linux32' is no end of path"),
    "same group": (("groups", 1, "name", "linux64 to linux64"), "is not unlike another's"),
    "level twice": (("streams", [4, 1, 4]), "streams: the level 4 is given twice"),
    "MTU twice": (("tunings", 0, "mtus_B", [1500, 1500]), "tunings.none.mtus_B: the level 1500"),
    "tuning twice": (("tunings", 1, "name", "none"), "tunings: the level 'none' is given twice"),
    "lab address": (("hosts", "linux32", "address", "h"), "a lab host takes no address"),
    "no ssh address": (("hosts", "linux32", "kind", "ssh"), "an ssh host needs an address"),
    "one end": (("paths", "64-64", "ends", [{"host": "linux32"}]), "paths.64-64.ends.1"),
    "design too large": (("timing", "repeats", 999), "timing.repeats: 999 repeats of 140 cells"),
    "quick too large": (("quick", "repeats", 999), "quick.repeats: 999 repeats of 140 cells"),
    "no room for -quick": (("name", "x" * 43), "over 42 characters"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_does_not_fit_together_is_named(name):
    change, sentence = SENTENCES[name]
    assert sentence in str(refusal(changed(*change)))


SSH = {"kind": "ssh", "address": "server.example"}
DATA = {"address": "192.0.2.1", "interface": "eth0"}


def over_ssh(first: dict | None = None, second: dict | None = None, host: dict | None = None):
    """A study of two ssh hosts; the arguments change the ends and the first host."""
    content = copy.deepcopy(CONTENT)
    content["hosts"] = {"a": {**SSH, **(host or {})}, "b": dict(SSH)}
    ends = [
        {"host": "a", **(DATA if first is None else first)},
        {"host": "b", **({**DATA, "address": "192.0.2.2"} if second is None else second)},
    ]
    content["paths"] = {"a-b": {"ends": ends}}
    content["groups"] = [{"name": "a -> b", "path": "a-b", "sender": "a"}]
    return content


def test_a_study_of_ssh_hosts_is_read():
    study = validated(Study, over_ssh(), "my.yml")
    assert study.bus_MBps("a-b") is None
    assert study.receiver(study.groups[0]) == "b"


@pytest.mark.parametrize(
    "address", ["-oProxyCommand=id", "a b", "a;id", "$(id)", "a\nb", "", "x" * 254, "user@host"]
)
def test_an_ssh_address_that_could_be_more_than_a_name_is_refused(address):
    error = refusal(over_ssh(host={"address": address}))
    assert error.key.startswith("hosts.a")
    assert "address" in str(error)


@pytest.mark.parametrize("user", ["root; id", "-l", "", "a" * 33])
def test_a_user_that_no_system_has_is_refused(user):
    assert refusal(over_ssh(host={"user": user})).value == user


@pytest.mark.parametrize("port", [0, 65536, -22, "22", True])
def test_a_port_that_no_system_has_is_refused(port):
    assert refusal(over_ssh(host={"port": port})).key == "hosts.a.port"


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        ({}, None, "needs an address and an interface"),
        ({"address": "192.0.2.1"}, None, "needs an address and an interface"),
        (None, {**DATA, "address": "192.0.2.1"}, "differ"),
        (None, {**DATA, "address": "2001:db8::1"}, "both IPv4 or both IPv6"),
    ],
)
def test_the_ends_of_a_path_over_ssh_have_addresses_that_fit(first, second, sentence):
    assert sentence in str(refusal(over_ssh(first, second)))


def test_a_lab_host_and_an_ssh_host_cannot_be_joined():
    content = over_ssh()
    content["hosts"]["b"] = {"kind": "lab"}
    assert "cannot be joined" in str(refusal(content))


def test_only_a_lab_path_has_a_link():
    content = over_ssh()
    content["paths"]["a-b"]["link"] = {}
    assert "only a lab path has a link" in str(refusal(content))


# Mutations: whatever is done to a valid study, it loads or is refused.

KEYS = st.sampled_from(["name", "kind", "ends", "host", "a b", "", "0", "<<"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["linux32", "64-64", "none", "->", "<->", "lab", "ssh", "::1", "a" * 300]),
    st.integers(min_value=10**300, max_value=10**301),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | SCALARS, inner, max_size=3),
    max_leaves=6,
)


def places(content, path=()):
    """Every place in nested mappings and lists, as paths."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_mutation_of_a_study_loads_or_is_bad_input(data):
    content = copy.deepcopy(CONTENT)
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(list(places(content))))
        place = content
        for part in path:
            place = place[part]
        kind = data.draw(st.sampled_from(["set", "drop", "add", "rename"]))
        if kind == "set":
            place[last] = data.draw(VALUES)
        elif kind == "drop":
            del place[last]
        elif isinstance(place, list):
            place.append(data.draw(VALUES))
        elif kind == "add":
            place[data.draw(KEYS | SCALARS)] = data.draw(VALUES)
        else:
            place[data.draw(KEYS)] = place.pop(last)
        if not content:
            break
    try:
        study = validated(Study, content, "my.yml")
    except BadInput as error:
        assert str(error).startswith("my.yml: ")
        assert "\n" not in str(error)
    else:
        again = validated(Study, study.model_dump(mode="python"), "my.yml")
        assert again.digest() == study.digest()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_damage_to_the_file_loads_or_is_bad_input(tmp_path_factory, data):
    raw = bytearray(OPENLAB.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw) - 1))
        raw[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "damaged.yml"
    path.write_bytes(raw)
    try:
        assert isinstance(load(path), Study)
    except BadInput as error:
        assert str(error).startswith(f"{path}: ")


# load() and the digest.


def test_quick_takes_the_quick_timing_and_says_so_in_the_name():
    study = load(OPENLAB, quick=True)
    assert study.name == "openlab-2003-quick"
    assert (study.timing.repeats, study.timing.seconds) == (2, 0.3)
    assert study.digest() != load(OPENLAB).digest()


def test_quick_and_given_timing_go_together():
    study = load(OPENLAB, quick=True, repeats=1, seconds=0.5)
    assert (study.timing.repeats, study.timing.seconds) == (1, 0.5)
    assert study.timing.interval_ms == 50
    assert study.name == "openlab-2003-quick"


def test_the_longest_name_has_a_quick_form_that_takes_timing(tmp_path):
    path = tmp_path / "long.yml"
    path.write_text(yaml.safe_dump(changed("name", "x" * 42)))
    assert load(path, quick=True, seed=1).name == "x" * 42 + "-quick"


def test_a_study_without_quick_timing_has_no_quick_form(tmp_path):
    path = tmp_path / "slow.yml"
    path.write_text(yaml.safe_dump({k: v for k, v in CONTENT.items() if k != "quick"}))
    with pytest.raises(BadInput, match=r"slow\.yml: quick: has no quick timing"):
        load(path, quick=True)


def test_given_timing_replaces_the_files_and_none_leaves_it():
    study = load(OPENLAB, repeats=1, seconds=2, warmup_s=None, seed=7)
    assert study.timing.repeats == 1
    assert study.timing.seconds == 2.0
    assert study.timing.warmup_s == load(OPENLAB).timing.warmup_s
    assert study.seed == 7


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"second": 1}, "second"),
        ({"repeats": 0}, "timing.repeats"),
        ({"repeats": 2.0}, "timing.repeats"),
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
    assert load(path).digest() == load(OPENLAB).digest()


def test_the_digest_takes_1_and_1_0_seconds_for_the_same():
    whole = validated(Study, changed("timing", "seconds", 1), "my.yml")
    point = validated(Study, changed("timing", "seconds", 1.0), "my.yml")
    assert whole.digest() == point.digest()


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
    assert validated(Study, changed(*change), "my.yml").digest() != load(OPENLAB).digest()


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


def test_every_study_that_comes_with_netlab_loads():
    paths = sorted((data_dir() / "studies").glob("*.yml"))
    assert OPENLAB in paths
    for path in paths:
        assert isinstance(studies.load(path), Study)
