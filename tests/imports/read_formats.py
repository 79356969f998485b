"""Recorded outputs of tools and their runs, for tests of formats."""

from __future__ import annotations

import json

import pytest
from imports.samples import RECORDED

from netlab.errors import BadInput
from netlab.imports.formats import parse
from netlab.outputs.records import Record


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def one(text: str) -> Record:
    (record,) = parse(text)
    return record


ETHR = """\
[ ID]   Protocol    Interval      Bits/s
[  5]     TCP      000-001 sec    9.41G
[  5]     TCP      001-002 sec    9.39G
"""


def refused_for(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=rf"line \d+: .*{words}"):
        parse(text)


JSON = recorded("iperf3-tcp.json")
DOCUMENT = json.loads(JSON)


def streamed(*kinds: str) -> str:
    events = [{"event": "start", "data": DOCUMENT["start"]}]
    events += [{"event": "interval", "data": one} for one in DOCUMENT["intervals"]]
    events += [{"event": "end", "data": DOCUMENT["end"]}]
    return "".join(json.dumps(event) + "\n" for event in events)
