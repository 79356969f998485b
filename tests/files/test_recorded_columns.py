"""JSON of the columns of a record: of the kinds that readers expect, or refused with its place."""

from __future__ import annotations

import json

import pytest
from refusals import refused

from netlab.errors import BadInput
from netlab.files.recorded_columns import column_json

GOOD = {
    "factors": {"rtt_ms": 2.5, "congestion": "bbr", "nodelay": True, "queues": 2},
    "policy": {"sender": {"batch_B": 65536, "yield": None}},
    "card_counters": {"sender": {"rx_dropped": 3}},
    "unsupported": [{"host": "left", "knob": "tcp_tw_recycle", "reason": "no such file"}],
    "knobs": {"left": {"net.ipv4.tcp_sack": "1"}},
    "provenance": {"hosts": {"left": {"kernel": "6.1"}}, "link": {"left": {"tso": True}}, "new": 1},
    "flows": [{"count": 2}],
}


@pytest.mark.parametrize("column", GOOD)
def test_what_netlab_writes_is_read_as_it_is(column):
    text = json.dumps(GOOD[column])
    assert column_json(text, column) == GOOD[column]
    assert not column_json("", column) and not column_json("null", column)


@pytest.mark.parametrize(
    ("column", "text", "key"),
    [
        ("provenance", '{"hosts": {"left": null}}', "hosts.left"),
        ("provenance", '{"hosts": ["left"]}', "hosts"),
        ("provenance", '{"link": {"left": 3}}', "link.left"),
        ("knobs", '{"left": null}', "left"),
        ("knobs", '{"left": {"mtu": {}}}', "left.mtu"),
        ("unsupported", '[{"host": "left"}]', "0.knob"),
        ("unsupported", "[null]", "0"),
        ("unsupported", "{}", ""),
        ("factors", '{"rtt_ms": [1, 2]}', "rtt_ms"),
        ("factors", '{"rtt_ms": 1e999}', "rtt_ms"),
        ("card_counters", '{"sender": {"rx_dropped": "many"}}', "sender.rx_dropped"),
        ("policy", '{"sender": 1}', "sender"),
        ("flows", "[1]", "0"),
    ],
)
def test_another_kind_of_value_is_refused_with_its_column_and_place(column, text, key):
    with refused(BadInput, "E-FILES-101") as raised:
        column_json(text, column)
    assert f"column {column} of the results" in str(raised.value) and key in str(raised.value)


def test_text_that_is_not_json_is_refused_with_its_column():
    with refused(BadInput, "E-FILES-017", match="column knobs of the results"):
        column_json("{", "knobs")
