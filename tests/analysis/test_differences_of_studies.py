"""What two studies ask of their paths is among the differences of their results."""

from __future__ import annotations

import json

import campaigns
import synthetic

from netlab.analysis.other_differences import DIGESTS, differences
from netlab.files.yaml_file import validated
from netlab.study import Study


def lab(rtt_ms: float, *also: str) -> Study:
    hosts = {name: {"kind": "lab"} for name in ("left", "middle", *also)}
    link = {"emulator": {"rtt_ms": rtt_ms, "rate_Mbps": 1000.0}}
    paths = {"p1": {"ends": [{"host": "left"}, {"host": "middle"}], "link": link}}
    if also:
        paths["p1"]["also"] = [{"host": name} for name in also]
    content = {**campaigns.STUDY, "hosts": hosts, "paths": paths, "factors": {}}
    content["groups"] = campaigns.STUDY["groups"][:1]
    return validated(Study, content, "lab.yml")


def test_the_rtt_that_differs_is_named_and_digests_come_last():
    near, far = lab(1.0), lab(20.0)
    runs = [synthetic.runs_of(study) for study in (near, far)]
    runs[1]["study_digest"] = "another"
    runs[1]["warmup_s"] = 0.4
    found = differences(*runs, (near, far))
    items = found["item"].tolist()
    row = found.set_index("item").loc["path p1, RTT, ms"]
    assert (row["a"], row["b"]) == ("1.0", "20.0")
    assert items[:2] == ["path p1, RTT, ms", "warm-up, s"]
    assert set(items[-1:]) <= DIGESTS


def test_hosts_and_paths_of_other_names_are_compared_together():
    """One's own machines have other names than those of the other study: no row of each alone."""
    here, there = lab(1.0), lab(20.0)
    content = there.model_dump(mode="json", exclude_unset=True)
    text = json.dumps(content).replace("left", "rack-1").replace("middle", "rack-2")
    there = validated(Study, json.loads(text.replace("p1", "cable")), "there.yml")

    def renamed(row):
        content = json.loads(row["provenance"])
        facts, knobs = content["hosts"], json.loads(row["knobs"])
        content["hosts"] = {f"rack-{host}": facts[host] | {"kernel": "7.0"} for host in facts}
        row["provenance"] = json.dumps(content)
        row["knobs"] = json.dumps({f"rack-{host}": knobs[host] for host in knobs})

    runs = synthetic.runs_of(here), synthetic.runs_of(there, change=renamed)
    found = differences(*runs, (here, there)).set_index("item")
    names = found.loc["hosts of one side"].tolist()
    assert names[1] == "; ".join(f"rack-{name}" for name in names[0].split("; "))
    assert found.loc["hosts of one side, kernel", "b"] == "7.0"
    assert found.loc["path of one side"].tolist() == ["p1", "cable"]
    assert found.loc["path of one side, RTT, ms"].tolist() == ["1.0", "20.0"]
    assert "not recorded" not in found[["a", "b"]].to_numpy()


def test_further_senders_are_counted_and_their_addresses_not_shown():
    studies = lab(1.0), lab(1.0, "third", "fourth")
    found = differences(*(synthetic.runs_of(study) for study in studies), studies)
    row = found.set_index("item").loc["path p1, hosts"]
    assert (row["a"], row["b"]) == ("2", "4")
    assert not found.astype(str).apply(lambda of: of.str.contains("address")).to_numpy().any()


def facts_of(*hosts: str):
    """A change that records a fact and a setting of each of these hosts."""
    provenance = json.dumps({"hosts": {name: {"kernel": "6.1", "cpus": 2} for name in hosts}})
    knobs = json.dumps({name: {"net.core.rmem_max": "212992"} for name in hosts})
    return lambda row: row.update(provenance=provenance, knobs=knobs)


def test_a_host_of_one_side_alone_is_one_line_and_its_facts_are_none():
    more, fewer = lab(1.0, "third", "fourth"), lab(1.0, "third")
    ends = ("left", "middle", "third")
    of_more = synthetic.runs_of(more, change=facts_of(*ends, "fourth"))
    of_fewer = synthetic.runs_of(fewer, change=facts_of(*ends))
    sides = {"a": (of_more, more), "b": (of_fewer, fewer)}
    for one, other in (("a", "b"), ("b", "a")):
        (runs, studies) = zip(sides[one], sides[other], strict=True)
        found = differences(*runs, studies).set_index("item")
        assert found.index.tolist() == ["path p1, hosts", "hosts of one side", "study digest"]
        named = {"a": "fourth", "b": "none"}
        assert found.loc["hosts of one side"].tolist() == [named[one], named[other]]


def test_a_tuning_of_one_side_alone_is_one_line_and_equal_settings_are_none():
    """One tuning more gives the settings of the other no name that the first side lacks."""
    both, one = (
        campaigns.study(factors={}, tunings=[{"name": name, "knobs": []} for name in names])
        for names in (("plain", "large"), ("plain",))
    )
    change = facts_of("left", "middle", "right")
    runs = [synthetic.runs_of(study, change=change) for study in (both, one)]
    found = differences(*runs, (both, one)).set_index("item")
    assert found.index.tolist() == ["tunings of one side", "study digest"]
    assert found.loc["tunings of one side"].tolist() == ["large", "none"]
    knobs = json.dumps({"left": {"net.core.rmem_max": "425984"}})
    runs[1] = runs[1].assign(knobs=knobs).astype({"knobs": "string"})
    found = differences(*runs, (both, one)).set_index("item")
    row = found.loc["left, net.core.rmem_max, tuning plain"]
    assert row.tolist() == ["212992", "425984"]
