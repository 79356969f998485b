"""Facts and provenance are checked once: what was not recorded is None, what does not fit fails."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest
from refusals import refused
from tracked_files import ROOT

from netlab.analysis.host_facts import FACTS
from netlab.errors import BadInput
from netlab.files.recorded_facts import (
    NUMBERS,
    STABLE,
    TEXTS,
    EndFacts,
    end_facts,
    host_facts,
    provenance_of,
)
from netlab.hosts.host_facts import SCRIPT

EXAMPLES = sorted((ROOT / "data" / "examples").glob("*/runs/*.parquet"))


def test_a_fact_that_was_not_recorded_is_none_and_a_further_one_is_left_out():
    facts = end_facts({"kernel": "6.1", "cpu": "Some CPU"})
    assert facts["kernel"] == "6.1"
    assert facts["cpus"] is facts["boot_id"] is facts["interface_exists"] is None
    assert (facts["generators"], facts["found"], facts["fixed"]) == ({}, {}, [])
    assert not {"cpu", "layers", "copy_MBps"} & facts.keys()


def test_facts_that_were_not_recorded_are_shared_by_no_two_hosts():
    one, other = end_facts({}), end_facts({})
    one["found"]["mtu"] = "1500"
    one["fixed"].append("mtu")
    assert (other["found"], other["fixed"]) == ({}, [])


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ({"cpus": "4"}, "cpus"),
        ({"cpus": True}, "cpus"),
        ({"kernel": 6}, "kernel"),
        ({"interface_exists": 1}, "interface_exists"),
        ({"layers": {"name": "eth0"}}, "layers"),
    ],
)
def test_a_fact_of_another_kind_is_refused_by_its_name(content, key):
    with refused(BadInput, "E-FILES-100") as caught:
        host_facts(content)
    assert caught.value.key == key


def test_a_record_is_refused_by_the_place_of_what_does_not_fit():
    with refused(BadInput, "E-FILES-100", match=r"provenance: hosts\.left\.cpus: "):
        provenance_of('{"hosts": {"left": {"cpus": "four"}}}')
    with refused(BadInput, "E-FILES-019"):
        provenance_of("[]")


def test_an_imported_run_has_no_hosts_and_an_old_record_the_first_rule():
    imported = provenance_of('{"netlab": "0.1", "imported": {"file": "a.json"}}')
    assert (imported["netlab"], imported["hosts"], imported["path_check"]) == ("0.1", {}, None)
    assert (imported["rule"], imported["user_namespace"], imported["task_group"]) == (
        1,
        False,
        None,
    )
    assert provenance_of("")["hosts"] == {}


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: f"{file.parts[-3]}/{file.stem}")
def test_every_record_of_the_examples_is_read_as_it_is(file):
    texts = pd.read_parquet(file, columns=["provenance"])["provenance"].unique()
    for text in texts:
        stored, read = json.loads(text), provenance_of(text)
        assert read["hosts"].keys() == stored.get("hosts", {}).keys()
        for host, facts in read["hosts"].items():
            named = {key: value for key, value in facts.items() if key in stored["hosts"][host]}
            assert named.items() <= stored["hosts"][host].items()
            assert {"kernel", "cpus", "found"} <= named.keys()
    assert len(texts)


def test_a_host_is_asked_for_the_facts_that_have_types_and_for_no_others():
    commands = re.sub("(?m)^ *#.*$", "", SCRIPT)
    printed = {*re.findall(r"\b(?:say|has) ([a-zA-Z_]+)", commands)}
    printed |= {*re.findall(r"/(nic_[a-z_]+) /p", commands)}
    assert printed - {"interface_exists"} == {*NUMBERS, *TEXTS}


def test_labels_of_facts_name_facts_that_there_are():
    assert {*FACTS, *STABLE} <= EndFacts.__annotations__.keys()
