"""A mistake in a study is refused in one message that names file, key and value."""

from __future__ import annotations

import copy
import math
import re

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openlab_study import CONTENT, OPENLAB, changed

from netlab.errors import BadInput, Mistakes
from netlab.files.yaml_file import validated
from netlab.study import Study, load


def refusal(content) -> BadInput:
    with pytest.raises(BadInput) as caught:
        validated(Study, content, "my.yml")
    message = str(caught.value)
    assert message.startswith("my.yml: ")
    assert "\n" not in message
    assert len(message) < 400
    return caught.value


END = "paths.64-64.ends.0"
LINK = "paths.64-64.link"
BAD = {
    "netlab": (2, True, 1.0),
    "name": ("a b", "../x", "x\n", "x" * 49),
    "title": ("a\0b", "a\nb", "a\u202eb", "x" * 201, "\ud800"),
    "colour": ("red",),
    "hosts.linux32.os": ("x",),
    "hosts.linux32.kind": ("vm",),
    "hosts.linux32.bus.bandwidth_MBps": (math.inf, -1),
    f"{END}.interface": (
        *("-h", "eth:0", "a/b", ".", "..", "x" * 16, "a b", "eth0\n", "", "ethö", 3, "$(id)\t"),
    ),
    f"{END}.address": (
        *("localhost", "10.0.0", "10.0.0.256", "10.0.0.1/24", 1, "", "::1::2", "0.0.0.0"),
        *("::", "224.0.0.1", "255.255.255.255", "ff02::1", "10.0.0.1; id"),
    ),
    f"{END}.bind_address": ("::",),
    f"{END}.port": (0, "9-5", "http"),
    f"{LINK}.rate_Mbps": (-1.0,),
    f"{LINK}.emulator.rtt_ms": (-1.0,),
    f"{LINK}.emulator.rate_Mbps": (0.0,),
    f"{LINK}.emulator.loss": (1.5,),
    f"{LINK}.emulator.reorder": (math.inf,),
    f"{LINK}.emulator.queue_B": (0,),
    f"{LINK}.emulator.queue_packets": (True,),
    f"{LINK}.emulator.mark_above_B": (0,),
    f"{LINK}.emulator.seed": (-1,),
    f"{LINK}.emulator.colour": ("red",),
    "timing.second": (3,),
    "timing.seconds": (-1.0, 0, math.inf, "1", True, 86400),
    "timing.warmup_s": (-0.1, False),
    "timing.rounds": (True, 3.0, "3", 0, 10**30),
    "timing.interval_ms": (9,),
    "timing.drain_s": (1e9,),
    "streams": ("1,4",),
    "streams.0": (0, 1_000_000),
    "streams.1": (True,),
    "tunings.0.mtus_B.0": (68, 65537, 1500.0),
    "groups.0.name": ("\x1b[2J", "(!)"),
    "groups.0.direction": ("<-",),
    "groups.0.record_length_B": (0, 2**30),
    "groups.0.buffer_B": (-1, 2**40),
    "groups.0.table": (True, 10**30),
    "groups.0.target_percent_of_bus": (101.0,),
    "groups.0.records": (0,),
    "groups.0.generator": ("curl",),
    "congestion": ("cubic; id", "cubic+"),
    "stacks.x.law": ("vegas",),
    "seed": (2**63, -1),
    "confidence": (95,),
    "receive": ("sendfile",),
    "send": ("discard",),
    "engine": ("kqueue",),
    "threads": (-1,),
    "force_buffer": (1,),
    "socket.dscp": (64,),
    "socket.mss_B": (87, 0),
    "socket.pacing_MBps": (0.0,),
    "socket.nodelay": (1,),
    "socket.busy_poll_us": (-1,),
    "socket.cpus_sender": ("0,", True, "0\n", "all"),
    "socket.cpus_receiver": ("1 2",),
    "socket.ttl": (3,),
}


@pytest.mark.parametrize(("key", "value"), [(key, one) for key in BAD for one in BAD[key]])
def test_a_bad_value_is_named_with_its_key(key, value):
    place = content = copy.deepcopy(CONTENT)
    *path, last = (int(part) if part.isdecimal() else part for part in key.split("."))
    for part in path:
        place = place[part] if isinstance(place, list) else place.setdefault(part, {})
    place[last] = value
    error = refusal(content)
    assert error.key == key
    assert error.value == value
    assert type(error.value) is type(value)


@pytest.mark.parametrize(("law", "key", "value"), [("fast", "beta", 1), ("aimd", "decrease", 1.0)])
def test_a_parameter_of_a_law_is_named_with_its_key(law, key, value):
    error = refusal(changed("stacks", {"x": {"law": law, key: value}}))
    assert (error.key, error.value) == (f"stacks.x.{key}", value)


def test_a_tuning_of_buffer_limits_needs_buffers_that_the_kernel_sizes():
    group = {"name": "one", "path": "cable", "sender": "left"}
    limits = [
        {"kind": "sysctl", "name": f"net.ipv4.tcp_{name}", "value": "4096 131072 67108864"}
        for name in ("rmem", "wmem")
    ]
    more = {"kind": "sysctl", "name": "net.ipv4.tcp_sack", "value": 0}

    def study(knobs: list, **options: object) -> dict:
        return {
            **{"netlab": 1, "name": "two", "title": "Two hosts", "streams": [1]},
            "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
            "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}]}},
            "groups": [{**group, **options}],
            "tunings": [{"name": "as-found"}, {"name": "larger", "knobs": knobs}],
        }

    error = refusal(study(limits, buffer_B=4096))
    assert (error.code, error.key) == ("E-STUDY-088", "tunings.1")
    assert "take out its `buffer_B` (4096)" in str(error)
    error = refusal(study(limits, factors={"buffer_B": [4096, 8192]}))
    assert "take out its `factors.buffer_B` (4096)" in str(error)
    for allowed in (
        study(limits),
        study([*limits, more], buffer_B=4096),
        study(limits, factors={"buffer_B": [0, 4096]}),
        study(limits, buffer_B=4096, receive_buffer_B=0),
    ):
        assert Study.model_validate(allowed).groups


@pytest.mark.parametrize("place", [("timing", "seconds"), ("confidence",)])
def test_nan_is_refused(place):
    error = refusal(changed(*place, math.nan))
    assert error.key == ".".join(place)
    assert math.isnan(error.value)


@pytest.mark.parametrize("key", ["title", "hosts", "groups", "timing", "seed"])
@pytest.mark.parametrize(
    ("value", "found"), [(None, "nothing"), ([[]], "a list"), ({"a": {}}, None)]
)
def test_a_value_of_another_shape_is_named(key, value, found):
    error = refusal(changed(key, value))
    assert error.key.split(".")[0] == key
    if found and key not in ("hosts", "groups"):
        assert f"(found {found})" in str(error)


HOST = ("paths", "64-64", "ends", 0, "host")
SENTENCES = {
    "unknown host": ((*HOST, "linux65"), "paths.64-64: no host is called 'linux65'"),
    "one host twice": ((*HOST, "linux64-b"), "not 'linux64-b' twice"),
    "unknown path": (("groups", 0, "path", "a-b"), "no path is called 'a-b'"),
    "sender elsewhere": (("groups", 0, "sender", "linux32"), "'linux32' is not an end of path"),
    "same group": (("groups", 1, "name", "linux64 to linux64"), "is too similar to another's"),
    "level twice": (("streams", [4, 1, 4]), "streams: the level 4 is given twice"),
    "MTU twice": (("tunings", 0, "mtus_B", [1500, 1500]), "tunings.none.mtus_B: the level 1500"),
    "lab address": (("hosts", "linux32", "address", "h"), "a lab host takes no address"),
    "no ssh address": (("hosts", "linux32", "kind", "ssh"), "an ssh host needs an address"),
    "one end": (("paths", "64-64", "ends", [{"host": "linux32"}]), "paths.64-64.ends.1"),
    "design too large": (("timing", "rounds", 999), "999 rounds of 140 cells"),
    "quick too large": (("quick", "rounds", 999), "quick.rounds: 999 rounds of 140 cells"),
    "group of no level": (
        ("groups", 0, "streams", [4, 5]),
        "groups: Linux64 -> Linux64: streams: the study has no level 5",
    ),
    "group's level twice": (("groups", 0, "streams", [4, 4]), "streams: a level is given twice"),
    "group without a cell": (
        ("groups", 0, {**CONTENT["groups"][0], "tunings": ["none"], "mtus_B": [16114]}),
        "none of its tunings has any of its MTUs",
    ),
    "loss without an emulator": (
        ("groups", 0, {**CONTENT["groups"][0], "force_loss_at_s": 0.1}),
        "force_loss_at_s: path '64-64' has no emulator to force a loss",
    ),
    "another law's parameter": (
        ("stacks", {"x": {"law": "highspeed", "gamma": 0.5}}),
        "stacks.x: gamma: the law highspeed takes max_ssthresh_segments",
    ),
    "scalable as if aimd": (
        ("stacks", {"x": {"law": "scalable", "increase": 6}}),
        "stacks.x: increase: scalable gains at most 1 segment for each acknowledged",
    ),
    "records both ways": (("groups", 1, "records", 9), "in one direction"),
    "too many bytes": (("groups", 0, "records", 10**9), "are over 17592186044416 B"),
    "a short form of no records": (("groups", 0, "quick_records", 9), "has no records"),
    "two placements": (
        ("socket", {"follow_incoming_cpu": True, "cpus_receiver": "0"}),
        "follow_incoming_cpu and CPUs exclude each other",
    ),
    "no room for -quick": (("name", "x" * 43), "over 42 characters"),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_contradicting_keys_are_named(name):
    change, sentence = SENTENCES[name]
    assert sentence in str(refusal(changed(*change)))


@pytest.mark.parametrize("of", ["bus", "rate"])
def test_a_link_with_a_bus_or_a_rate_has_one_pair_of_queues(of):
    content = changed("paths", "64-64", "link", {"queues": 2})
    if of == "rate":
        for host in content["hosts"].values():
            host.pop("bus", None)
        assert validated(Study, content, "my.yml").paths["64-64"].link.queues == 2
        content["paths"]["64-64"]["link"]["rate_Mbps"] = 1000.0
    said = str(refusal(content))
    assert "paths.64-64.link.queues: a link with a rate or a bus has one pair" in said


def test_a_loss_is_forced_before_a_run_is_over():
    content = changed("paths", "64-64", "link", {"emulator": {}})
    content["groups"] = [{**CONTENT["groups"][0], "path": "64-64", "force_loss_at_s": 0.2}]
    content["timing"] = {"seconds": 0.2, "warmup_s": 0.1}
    content.pop("quick", None)
    assert validated(Study, content, "my.yml").groups[0].force_loss_at_s == 0.2
    content["quick"] = {"seconds": 0.1, "warmup_s": 0.1}
    assert "a run is over after 0.2 s" in str(refusal(content))


@pytest.mark.parametrize(
    ("key", "value"),
    [("engine", "epoll"), ("threads", 1), ("send", "splice"), ("socket", {"nodelay": True})],
)
def test_options_of_netlabs_generator_are_refused_for_another(key, value):
    content = changed(key, value)
    content["groups"][0]["generator"] = "iperf3"
    said = str(refusal(content))
    assert f"{key}: is for netlab's own generator" in said and "takes iperf3" in said


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


HOST_VALUES = {
    "address": ("-oProxyCommand=id", "a b", "a;id", "$(id)", "a\nb", "", "x" * 254, "user@host"),
    "user": ("root; id", "-l", "", "a" * 33),
    "port": (0, 65536, -22, "22", True),
}


@pytest.mark.parametrize(
    ("key", "value"), [(k, one) for k in HOST_VALUES for one in HOST_VALUES[k]]
)
def test_an_address_user_or_port_that_no_ssh_host_can_have_is_refused(key, value):
    error = refusal(over_ssh(host={key: value}))
    if key == "address":
        assert error.key.startswith("hosts.a") and "address" in str(error)
    else:
        assert (error.key, error.value) == (f"hosts.a.{key}", value)


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


@pytest.mark.parametrize(
    ("part", "name", "change", "sentence"),
    [
        ("hosts", "b", {"kind": "lab"}, "cannot be joined"),
        ("paths", "a-b", {**over_ssh()["paths"]["a-b"], "link": {}}, "only a lab path has a link"),
        (
            *("paths", "a-b", {**over_ssh()["paths"]["a-b"], "link": {"emulator": {}}}),
            "netlab emulates nothing between ssh hosts",
        ),
    ],
)
def test_only_lab_hosts_are_joined_by_a_link_of_the_lab(part, name, change, sentence):
    content = over_ssh()
    content[part][name] = change
    assert sentence in str(refusal(content))


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


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
        each = error.mistakes if isinstance(error, Mistakes) else [error]
        assert len(str(error).splitlines()) == (len(each) + 1 if len(each) > 1 else 1)
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
        assert str(error).startswith(f"{path}:")


def test_a_tuning_that_is_given_twice_is_named():
    content = changed("tunings", 2, "name", "none")
    del content["hosts"]["linux32"]["profiles"]["full"]
    assert "tunings: the level 'none' is given twice" in str(refusal(content))


MANY = """\
netlab: 1
name: many
title: t
hosts:
  left: {kind: ssh, address: 192.0.2.77}
  right: {kind: ssh, address: 192.0.2.78}
paths:
  cable: {ends: [{host: left, address: 198.18.0.1}, {host: right, address: 198.18.0.2}]}
  other: {ends: [{host: lft, address: 198.18.0.1}, {host: right, address: 198.18.0.2}]}
groups:
  - {name: a -> b, path: cabel, sender: left}
  - {name: b -> a, path: cable, sender: middle}
  - {name: c -> a, path: other, sender: lft, streams: [1]}
tunings:
  - {name: openlab-2003-ful}
  - {name: as-found}
  - {name: openlab-2003-norml}
congestion: cubicc
streams: [1, 1]
"""
LINES = {
    8: "paths.cable: the end on ssh host 'left' needs an address and an interface [E-YAML-022]",
    9: "paths.other: no host is called 'lft' [E-YAML-022]",
    11: "groups: a -> b: no path is called 'cabel' [E-YAML-022]",
    12: "groups: b -> a: 'middle' is not an end of path 'cable' [E-YAML-022]",
    15: "tunings.0: unknown tuning 'openlab-2003-ful'; the nearest: openlab-2003-full",
    17: "tunings.2: unknown tuning 'openlab-2003-norml'; the nearest: openlab-2003-normal",
    18: "congestion: unknown congestion control 'cubicc'; the nearest: cubic",
    19: "streams: the level 1 is given twice [E-YAML-022]",
}


def test_names_that_do_not_resolve_are_reported_at_once_each_with_its_line(tmp_path):
    path = tmp_path / "many.yml"
    path.write_text(MANY)
    with pytest.raises(Mistakes) as caught:
        load(path)
    first, *others = str(caught.value).splitlines()
    assert first == f"{path}: 8 mistakes"
    for line, (number, sentence) in zip(others, LINES.items(), strict=True):
        assert line.startswith(f"  {path}:{number}: {sentence}")


def test_an_option_that_no_group_can_take_is_reported_once_with_its_line(tmp_path):
    path = tmp_path / "many.yml"
    right = MANY.replace("cabel", "cable").replace("middle", "left").replace("streams: [1, 1]", "")
    right = right.replace("lft", "left").replace("cubicc", "cubic").replace("-ful}", "-full}")
    right = right.replace("norml", "normal").replace(".1}", ".1, interface: e0}")
    right = right.replace(".2}", ".2, interface: e0}") + "streams: [1]\n"
    path.write_text(right + "threads: 3\nengine: blocking\n")
    with pytest.raises(BadInput, match=r"yml:21: threads: the blocking engine always has one"):
        load(path)
    path.write_text(right)
    assert len(load(path).groups) == 3


WRONG = (None, "§ wrong/", -7, math.inf, [], ["x"])
OF_PYDANTIC = re.compile(r"\b(should|Input|String|Field required|Value error|valid \w+)\b")


def test_an_item_of_a_pair_that_is_missing_is_called_an_item():
    wrong = changed("paths", "64-64", "ends", [{"host": "linux64-a"}])
    assert "ends.1: item 2 of the list is missing" in str(refusal(wrong))


def every_place(content, above=()):
    """Places of all keys and of the first items of lists, and a key that no name may be."""
    if isinstance(content, dict):
        yield (*above, "no name!")
    items = content.items() if isinstance(content, dict) else enumerate(content[:2])
    for key, value in items:
        yield (*above, key)
        if isinstance(value, dict | list):
            yield from every_place(value, (*above, key))


def test_a_wrong_value_at_any_place_is_refused_in_words_of_netlab():
    content = yaml.safe_load((OPENLAB.parent / "highspeed-loss.yml").read_text())
    content["hosts"]["another"] = {"kind": "ssh", "address": "a", "user": "me", "port": 22}
    content["hosts"]["another"]["agent_directory"] = "/opt/measure"
    content |= {"cpus_sender": "0-3"}
    refusals = 0
    for place in every_place(content):
        for value in WRONG:
            wrong = inner = copy.deepcopy(content)
            for part in place[:-1]:
                inner = inner[part]
            inner[place[-1]] = value
            try:
                load(wrong)
            except BadInput as error:
                assert not OF_PYDANTIC.search(str(error).partition("(found")[0]), (place, value)
                assert "[key]" not in str(error)
                refusals += 1
    assert refusals > 300
