"""Provenance has a column a host; facts that differ are apart from those that do not."""

from __future__ import annotations

import json

import pytest

from netlab.analysis.machines import machines
from netlab.errors import NetlabError

FACTS = {"kernel": "6.12.0", "cpu_model": "Some CPU", "cpus": 2, "nic_firmware": None}


def with_hosts(runs, **hosts):
    content = {"netlab": "0.1.0", "agent": "5f" * 32, "hosts": hosts, "path_check": "PING " * 99}
    return runs.assign(provenance=json.dumps(content))


def test_a_fact_is_a_row_and_a_host_a_column_in_the_studys_order(runs, openlab):
    hosts = {name: FACTS | {"hostname": name} for name in ("linux32", "linux64-b", "linux64-a")}
    found = machines(with_hosts(runs, **hosts), openlab)
    assert list(found.hosts.columns) == ["linux64-a", "linux64-b", "linux32"]
    assert found.differing.index.tolist() == ["hostname"]
    equal = found.equal.set_index("item")["value"]
    assert equal["CPU"] == "Some CPU" and equal["NIC firmware"] == "not recorded"
    assert found.fact("kernel") == ["6.12.0"] and found.fact("NIC firmware") == []


def test_a_host_that_changed_shows_both_values(runs, openlab):
    changed = with_hosts(runs, linux32=FACTS)
    other = json.loads(changed["provenance"].iloc[0])
    other["hosts"]["linux32"]["kernel"] = "6.13.0"
    changed.loc[0, "provenance"] = json.dumps(other)
    assert set(machines(changed, openlab).hosts.loc["kernel", "linux32"].split("; ")) == {
        "6.12.0",
        "6.13.0",
    }


def test_the_campaign_has_digest_times_and_seed_and_no_printed_ping(runs, openlab):
    shared = machines(with_hosts(runs, linux32=FACTS), openlab).shared.set_index("item")["value"]
    assert shared["study digest (SHA-256)"] == openlab.digest()
    assert shared["seed"] == "2003" and shared["first run"] == "2026-01-05 10:00:00 UTC"
    assert shared["runs"] == "420, of which 420 valid"
    assert not shared.str.contains("PING").any()


def test_records_without_provenance_give_empty_tables(runs, openlab):
    found = machines(runs.assign(provenance=""), openlab)
    assert found.hosts.empty and found.differing.empty and found.equal.empty


def test_provenance_that_is_not_json_is_an_error(runs, openlab):
    with pytest.raises(NetlabError) as caught:
        machines(runs.assign(provenance="{half"), openlab)
    assert caught.value.code == "E-ANALYSIS-040"
