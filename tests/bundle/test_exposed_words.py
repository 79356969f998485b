"""Words of a network that results and reports have, of hosts besides the two ends too."""

from __future__ import annotations

import json

import campaigns
import pytest
import synthetic

from netlab.bundle.publish import publish_sites
from netlab.bundle.redaction import Words, words_of
from netlab.files.yaml_file import validated
from netlab.results.campaign_files import folder
from netlab.results.columns import RUN_COLUMNS
from netlab.results.parquet import write_atomically
from netlab.study import Study
from netlab.study.frozen import freeze


def over_ssh(*hosts: str) -> Study:
    """A study of hosts of which all but the second send to that one."""
    ends = [
        {"host": name, "interface": "eth0", "address": f"192.0.2.{number}"}
        for number, name in enumerate(hosts, 1)
    ]
    logins = {name: {"kind": "ssh", "address": f"{name}.corp.example"} for name in hosts}
    content = {
        **campaigns.STUDY,
        "hosts": {name: {**login, "user": f"of-{name}"} for name, login in logins.items()},
        "paths": {"p1": {"ends": ends[:2], "also": ends[2:]}},
        "groups": [{"name": "all", "path": "p1", "sender": hosts[0]}],
        "factors": {},
    }
    return validated(Study, content, "study.yml")


def test_a_sender_that_the_study_no_longer_has_is_known_from_an_earlier_campaign(tmp_path):
    now, before = over_ssh("left", "right"), over_ssh("left", "right", "vega7")
    freeze(before, folder(tmp_path, "20260101T100000Z"))
    freeze(now, folder(tmp_path, "20260102T100000Z"))
    words = words_of(now, tmp_path)
    assert {"vega7", "vega7.corp.example"} <= set(words.hosts)
    assert "of-vega7" in words.users and "192.0.2.3" in words.addresses
    text = freeze(before, tmp_path / "again").read_text()
    assert "vega7" in text and "vega7" not in words.redacted(text)


def test_names_of_further_senders_are_counted_before_a_report_is_published(tmp_path):
    exposed = []
    for hosts in (("left", "right"), ("left", "right", "vega7")):
        site = tmp_path / str(len(hosts))
        (site / "downloads").mkdir(parents=True)
        (site / "index.html").write_text("<title>Racks</title>")
        runs = synthetic.runs_of(over_ssh("left", "right")).assign(
            unsupported="[]", provenance=json.dumps({"hosts": {name: {} for name in hosts}})
        )
        write_atomically(runs, site / "downloads" / "runs.parquet", RUN_COLUMNS)
        publish_sites([site], "nowhere", "gh-pages", lambda text: exposed.append(text) or False)
    assert "expose 2 host names, " in exposed[0] and "expose 3 host names, " in exposed[1]


@pytest.mark.parametrize(
    ("hosts", "text", "redacted"),
    [
        (("a", "b"), "a-b, a to b, mtu_B: 9000, 1448 B", "H1-H2, H1 to H2, mtu_B: 9000, 1448 B"),
        (("A", "B"), "A to B at queue_B, slug a-to-b", "H1 to H2 at queue_B, slug H1-to-H2"),
        (("r", "s"), "r_s: 0.2 s, warmup_s: 1, from s", "H1_s: 0.2 s, warmup_s: 1, from H2"),
        (("ms", "us"), "rtt_ms: 10 of ms, rtt_us", "rtt_ms: 10 of H1, rtt_us"),
        (("mars", "venus"), "mars_venus, MARS-2", "H1_H2, H1-2"),
        (
            ("core", "tcp"),
            "core net.core.rmem_max, net.ipv4.tcp_rmem",
            "H1 net.core.rmem_max, net.ipv4.tcp_rmem",
        ),
        (("rx", "tx"), "rx-tx adaptive rx, tx-checksum tx", "H1-H2 adaptive rx, tx-checksum H2"),
        (("net", "net.core.lan"), "net.core.lan is net", "H2 is H1"),
    ],
)
def test_units_and_words_of_settings_are_not_names_of_hosts(hosts, text, redacted):
    words = Words(hosts, (), (), ())
    assert words.redacted(text).replace("host-", "H") == redacted
