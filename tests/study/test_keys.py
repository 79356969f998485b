"""Every field of a study is in the key of a run, or not, on purpose: a new one fails here."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo

from netlab.experiment.conditions import context_of
from netlab.files.recorded_facts import end_facts
from netlab.files.yaml_file import validated
from netlab.study import Study, schedule
from netlab.study.keys import BY_CONTENT, IN_KEY, NOT_IN_KEY, OF_A_RUN, provenance_key

KNOB = {"kind": "ring", "name": "rx", "value": 4}
CHOICE = {
    "parameter": "RxIntDelay",
    "published": 64,
    "first_supported": [{"knobs": [{"kind": "coalesce", "name": "rx-usecs", "value": 52}]}],
}
TRACE = {"file": "lte.down", "opportunities": "0 2*1 4"}
LAB = {
    "netlab": 1,
    "name": "every-field",
    "title": "A study with every field",
    "hosts": {
        name: {"kind": "lab", "bus": {"bandwidth_MBps": 1064.0, "label": "PCI-X"}}
        for name in ("left", "right", "third", "fourth", "fifth")
    },
    "paths": {
        "cable": {
            "ends": [{"host": "left"}, {"host": "right"}],
            "link": {
                "emulator": {
                    **{"with": "netlab", "rtt_ms": 5.0, "trace": TRACE},
                    "reverse": {"trace": TRACE},
                    "second": {"rtt_ms": 2.0},
                }
            },
        }
    },
    "groups": [
        {
            **{"name": "own timing", "path": "cable", "sender": "left"},
            **{"timing": {"seconds": 2.0}, "quick": {"seconds": 1.0}},
            **{"flows": [{"count": 1}], "cross_udp_Mbps": 20.0},
        },
        {"name": "the study's", "path": "cable", "sender": "left"},
    ],
    "tunings": [
        {"name": "inline", "mtus_B": [1500, 9000], "knobs": [KNOB, CHOICE]},
        {"name": "own", "mtus_B": [1500]},
    ],
    "profiles": {
        "own": {
            "knobs": [{**KNOB, "value": 3}, CHOICE],
            "records": [{"kind": "ring", "name": "rx"}],
        }
    },
    "streams": [1, 4],
    "congestion": "mine",
    "stacks": {"mine": {"law": "aimd", "increase": 6.0, "decrease": 0.3}},
    "latency": {"probe": "udp"},
    "timing": {"seconds": 1.0, "warmup_s": 0.5},
    "precision": {"half_width_percent": 5.0, "budget": "20min"},
    "quick": {"rounds": 2, "seconds": 0.5},
    "published": {
        **{"title": "A table", "source": "A paper", "fluctuation_percent": 3.0},
        "cells": [{"streams": 1, "goodput_MBps": 100.0}],
        "steps": [{"before": {"streams": 1}, "after": {"streams": 4}, "ratio": 2.0}],
    },
    "report": {"notebooks": ["mine.ipynb"]},
}
FOUND = end_facts(
    {
        **{"kernel": "6.1", "mtu_B": 1500, "found": {"net.ipv4.tcp_rmem": "4096 131072 6291456"}},
        "generators": dict.fromkeys(
            ("netlab", "udp", "iperf3", "iperf2", "nuttcp", "neper", "iperf3-udp", "iperf2-udp"),
            "1",
        ),
    }
)
KNOBS = ("tunings.knobs", "profiles.knobs", "profiles.records")
ANOTHER: dict[str, Any] = {
    "groups.generator": "iperf3",
    "hosts.profiles": {"inline": "openlab-2003-full"},
    "tunings.profile": "openlab-2003-full",
    "tunings.mtus_B": (1500,),
    "groups.tunings": ("inline",),
    "groups.mtus_B": (1500,),
    "groups.streams": (1,),
    "groups.exclude": ({"streams": 4},),
    "exclude": ({"streams": 4},),
    "paths.ends.host": "third",
    "paths.also.host": "fifth",
    **{f"{place}.kind": "channels" for place in KNOBS},
    **{f"{place}.name": "tx" for place in KNOBS},
    **{f"{place}.value": "2" for place in KNOBS},
    "published.cells": ({"streams": 1, "goodput_MBps": 50.0},),
}
"""Values that an example or a rule does not give."""


def models(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in typing.get_args(annotation):
        yield from models(part)


def fields(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[str, FieldInfo]]:
    """Every field that holds no further model, by its dotted name."""
    for name, field in model.model_fields.items():
        below = dict.fromkeys(models(field.annotation))
        for each in below:
            yield from fields(each, (*place, name))
        if not below:
            yield ".".join((*place, name)), field


FIELDS = dict(fields(Study))
SORTED = {"in": IN_KEY, "content": BY_CONTENT, "run": OF_A_RUN, "not": NOT_IN_KEY}


def places(name: str) -> list[str]:
    return [
        place
        for place, patterns in SORTED.items()
        for pattern in patterns
        if fnmatchcase(name, pattern)
    ]


def test_every_field_is_sorted_once_and_every_entry_has_a_field():
    assert {name: places(name) for name in FIELDS if len(places(name)) != 1} == {}
    patterns = [pattern for each in SORTED.values() for pattern in each]
    idle = [p for p in patterns if not any(fnmatchcase(name, p) for name in FIELDS)]
    assert idle == [] and all(reason for each in SORTED.values() for reason in each.values())


def another(name: str, field: FieldInfo, value: object) -> object:
    """Another value of a field."""
    if name in ANOTHER:
        return ANOTHER[name]
    choices = [choice for choice in literals(field.annotation) if choice != value]
    if choices and not isinstance(value, bool):
        return choices[0]
    if isinstance(value, bool):
        return not value
    if bool in typing.get_args(field.annotation):
        return True
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    if field.examples:
        return TypeAdapter(field.annotation).validate_python(field.examples[0], strict=False)
    return TypeAdapter(field.annotation).validate_python(first(field.annotation), strict=False)


def literals(annotation: object) -> Iterator[object]:
    if typing.get_origin(annotation) is typing.Literal:
        yield from typing.get_args(annotation)
    elif typing.get_origin(annotation) is not tuple:
        for part in typing.get_args(annotation):
            yield from literals(part)


def first(annotation: object) -> object:
    """A value of a field without an example: a level, or a number."""
    inner = next(iter(literals(typing.get_args(annotation)[0])), None)
    return inner if inner is not None else 300


def changed(content: Any, place: list[str], name: str) -> Any:
    """A study in which a field has another value; of several models the first that has it."""
    if isinstance(content, dict):
        key = next(iter(content))
        return {**content, key: changed(content[key], place, name)}
    if isinstance(content, tuple):
        at = next(at for at, one in enumerate(content) if place[0] in type(one).model_fields)
        return (*content[:at], changed(content[at], place, name), *content[at + 1 :])
    head, *rest = place
    value = getattr(content, head)
    if rest:
        value = changed(value, rest, name)
    else:
        value = another(name, type(content).model_fields[head], value)
    # not validated: a value may contradict another field, and the key is of what there is
    return content.model_copy(update={head: value})


def keys(study: Study) -> dict[str, str]:
    found = {}
    for visit in schedule.rounds(study)[0]:
        ends = dict.fromkeys(study.path(visit.link).hosts, FOUND)
        context = context_of(study, visit, ends, None)
        found |= {r.cell_id: provenance_key(study, visit, r, context) for r in visit.runs}
    return found


def with_every_field() -> Study:
    """The study; not validated, since of several senders no lab host has a bus."""
    study = validated(Study, LAB, "every-field.yml")
    cable = study.paths["cable"]
    also = (cable.ends[1].model_copy(update={"host": "fourth"}),)
    return study.model_copy(update={"paths": {"cable": cable.model_copy(update={"also": also})}})


STUDY = with_every_field()


@pytest.mark.parametrize("name", [name for name in FIELDS if "factors." not in name])
def test_a_field_changes_the_key_exactly_if_it_is_listed_so(name):
    now, before = keys(changed(STUDY, name.split("."), name)), keys(STUDY)
    common = now.keys() & before.keys()
    differs = any(now[cell] != before[cell] for cell in common)
    assert differs == (places(name) in (["in"], ["content"]))
    assert common or places(name) == ["run"]


def named(profile: str, **study: Any) -> Study:
    """A study that takes the same settings under a name, for a level and for a host's own."""
    groups = [{"name": "all", "path": "cable", "sender": "left"}]
    hosts = {**LAB["hosts"], "left": {"kind": "lab", "profiles": {"tuned": f"{profile}-left"}}}
    content = {
        **LAB,
        **{"hosts": hosts, "groups": groups, "congestion": None, "stacks": {}},
        "tunings": [{"name": "tuned", "mtus_B": [1500], "profile": profile}],
        "profiles": {profile: {"knobs": [KNOB]}, f"{profile}-left": {"knobs": [CHOICE]}},
        **study,
    }
    return validated(Study, content, "named.yml")


def test_the_same_settings_under_another_name_have_the_same_key():
    assert keys(named("mine")) == keys(named("ours"))
    extended = {"base": {"knobs": [KNOB]}, "mine": {"extends": "base"}}
    extended["mine-left"] = {"knobs": [CHOICE]}
    assert keys(named("mine", profiles=extended)) == keys(named("mine"))


DATAGRAMS = {
    **{"name": "all", "path": "cable", "sender": "left"},
    **{"generator": "udp", "record_length_B": 1400},
}


@pytest.mark.parametrize(
    ("own", "same"),
    [
        ({}, False),
        ({"congestion": "cubic"}, True),
        ({"factors": {"congestion": ["cubic", "reno"]}}, True),
        ({"groups": [DATAGRAMS], "socket": {"pacing_MBps": 10.0}}, True),
    ],
)
def test_a_default_congestion_control_that_no_socket_uses_is_not_in_the_key(monkeypatch, own, same):
    study, of = named("mine", **own), []
    for default in ("cubic", "bbr"):
        found = {**FOUND["found"], "net.ipv4.tcp_congestion_control": default}
        monkeypatch.setitem(FOUND, "found", found)
        of.append(keys(study))
    assert (of[0] == of[1]) is same
