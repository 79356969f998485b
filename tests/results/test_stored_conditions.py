"""Conditions of a campaign are checked as they are read, and nothing in them is changed."""

from __future__ import annotations

import copy
import json

import pytest
from refusals import refused

from netlab.errors import NetlabError
from netlab.results import campaign_files

CAMPAIGN = "20261129T120000Z"
FIRST_RULE = {
    **{"schema": 8, "version": "0.1.0", "agent": "d1", "emulated_with": None, "task_group": "lab"},
    "profiles": {"a": [{"kind": "sysctl", "name": "net.core.rmem_max", "value": 1}], "b": []},
    "hosts": {"a": {"kernel": "6.1", "cpus": 4}, "b": {"kernel": "6.1", "cpus": None}},
    "found": {"a": {"mtu_B": 1500}, "b": {"mtu_B": None, "feature tso": "on"}},
    "generators": {"iperf3": {"a": "3.12", "b": None}},
}
"""A context of the netlab that first stored one, which had fewer facts and no number of a rule."""
LATER = {**FIRST_RULE, "rule": 3, "user_namespace": True, "clock": {"a": "tsc"}}
"""One with a part that this netlab does not know."""


def stored(directory, context) -> None:
    place = campaign_files.folder(directory, CAMPAIGN)
    place.mkdir(parents=True)
    (place / "campaign.json").write_text("{}")
    content = {"contexts": {"a-b@none@1500": context}, "keys": {"cell": "k"}, "trials": {}}
    (place / "conditions.json").write_text(json.dumps(content, sort_keys=True) + "\n")


@pytest.mark.parametrize("context", [FIRST_RULE, LATER], ids=["first rule", "later"])
def test_conditions_of_another_netlab_are_read_and_written_byte_for_byte(tmp_path, context):
    stored(tmp_path, context)
    file = campaign_files.conditions_file(tmp_path, CAMPAIGN)
    before = file.read_bytes()
    conditions = campaign_files.read_conditions(tmp_path, CAMPAIGN)
    assert conditions.contexts == {"a-b@none@1500": context}
    campaign_files.write_conditions(tmp_path, CAMPAIGN, conditions)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("version",), 1),
        (("hosts", "a", "kernel"), ["6.1"]),
        (("found", "b"), "1500"),
        (("generators", "iperf3", "a"), 3.12),
        (("profiles", "a"), {}),
        (("task_group",), "all"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_part_of_another_kind_is_refused_by_its_place_with_the_remedy(tmp_path, place, value):
    context = copy.deepcopy(FIRST_RULE)
    *above, name = place
    part = context
    for key in above:
        part = part[key]
    part[name] = value
    stored(tmp_path, context)
    match = f"(?s){place[0]}.*results repair"
    with refused(NetlabError, "E-RESULTS-025", match=match):
        campaign_files.read_conditions(tmp_path, CAMPAIGN)


@pytest.mark.parametrize("name", ["found", "hosts", "agent", "profiles", "emulated_with"])
def test_conditions_without_a_part_that_all_have_are_refused(tmp_path, name):
    stored(tmp_path, {key: value for key, value in FIRST_RULE.items() if key != name})
    with refused(NetlabError, "E-RESULTS-025", match=name):
        campaign_files.read_conditions(tmp_path, CAMPAIGN)
