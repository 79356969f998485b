"""Provenance has a column a host; facts that differ are apart from those that do not."""

from __future__ import annotations

import json

from refusals import refused

from netlab.analysis.conditions import unsupported
from netlab.analysis.host_facts import machines
from netlab.analysis.measured import from_frames
from netlab.analysis.other_differences import differences
from netlab.errors import NetlabError
from netlab.report.provenance_tables import provenance

FACTS = {"kernel": "6.12.0", "cpu_model": "Some CPU", "cpus": 2, "nic_firmware": None}


def with_hosts(runs, **hosts):
    content = {"netlab": "0.1.0", "agent": "5f" * 32, "hosts": hosts, "path_check": "PING " * 99}
    return runs.assign(provenance=json.dumps(content))


def test_a_fact_is_a_row_a_host_a_column_and_the_campaign_has_digest_times_and_seed(runs, openlab):
    hosts = {name: FACTS | {"hostname": name} for name in ("linux32", "linux64-b", "linux64-a")}
    found = machines(with_hosts(runs, **hosts), openlab)
    assert list(found.hosts.columns) == ["linux64-a", "linux64-b", "linux32"]
    assert found.differing.index.tolist() == ["hostname"]
    equal = found.equal.set_index("item")["value"]
    assert equal["CPU"] == "Some CPU" and equal["NIC firmware"] == "not recorded"
    assert found.fact("kernel") == ["6.12.0"] and found.fact("NIC firmware") == []
    shared = machines(with_hosts(runs, linux32=FACTS), openlab).shared.set_index("item")["value"]
    assert shared["study digest (SHA-256)"] == openlab.digest()
    assert shared["seed"] == "2003" and shared["first run"] == "2026-01-05 10:00:00 UTC"
    assert shared["runs"] == "420, of which 420 valid"
    assert not shared.str.contains("PING").any()


def test_a_host_that_changed_shows_both_values(runs, openlab):
    changed = with_hosts(runs, linux32=FACTS)
    other = json.loads(changed["provenance"].iloc[0])
    other["hosts"]["linux32"]["kernel"] = "6.13.0"
    changed.loc[0, "provenance"] = json.dumps(other)
    kernels = machines(changed, openlab).hosts.loc["kernel", "linux32"]
    assert set(kernels.split("; ")) == {"6.12.0", "6.13.0"}


def test_records_without_provenance_give_empty_tables_and_one_that_is_not_json_an_error(
    runs, openlab
):
    found = machines(runs.assign(provenance=""), openlab)
    assert found.hosts.empty and found.differing.empty and found.equal.empty
    with refused(NetlabError, "E-ANALYSIS-040"):
        machines(runs.assign(provenance="{half"), openlab)


def test_a_record_whose_facts_are_of_another_kind_is_an_error_and_never_a_traceback(runs, openlab):
    for damaged in ({"hosts": {"linux32": None}}, {"hosts": ["linux32"]}, {"link": {"linux32": 1}}):
        other = runs.assign(provenance=json.dumps(damaged))
        with refused(NetlabError, "E-FILES-101", match="column provenance"):
            machines(other, openlab)
        with refused(NetlabError, "E-FILES-101", match="column provenance"):
            differences(other, runs)
    with refused(NetlabError, "E-FILES-101", match="column unsupported"):
        unsupported(runs.assign(unsupported='[{"knob": "mtu"}]'))
    assert not differences(runs.assign(provenance='{"hosts": null}'), runs).empty


def test_the_tables_of_provenance_are_in_words_and_their_data_as_recorded(runs, openlab):
    of_host = FACTS | {"mac_address": "02:00:00:00:00:01", "found": {"mtu": "1500"}, "fixed": []}
    changed = with_hosts(runs, linux32=of_host)
    content = json.loads(changed["provenance"].iloc[0])
    content |= {"user_namespace": False, "link": {"linux32": {"wanted": {"rate_bps": 10}}}}
    changed = changed.assign(provenance=json.dumps(content))
    tables = provenance(from_frames(openlab, changed, None, None)).tables
    shown = [name for table in tables[1:] for name in table.frame["item"]]
    assert not [name for name in shown if "_" in name and not name.startswith("setting found: ")]
    assert {"MAC address", "setting found: mtu", "link as asked: rate, bit/s"} <= set(shown)
    campaign = tables[2].frame.set_index("item")["value"]
    assert campaign["lab in a user namespace"] == "no"
    assert tables[2].data.set_index("item")["value"]["user_namespace"] == "False"


def test_a_host_may_be_named_as_the_column_of_facts(runs, openlab):
    changed = with_hosts(runs, fact=FACTS, linux32=FACTS | {"kernel": "6.13.0"})
    differing, *_ = provenance(from_frames(openlab, changed, None, None)).tables
    assert {*differing.data.columns} == {"fact_", "fact", "linux32"}
    kernels = differing.data.set_index("fact_").loc["kernel"]
    assert kernels.to_dict() == {"fact": FACTS["kernel"], "linux32": "6.13.0"}
