"""Factors that a study cannot have are refused."""

from __future__ import annotations

import pytest
from refusals import refused
from study.crossed_study import BASE, crossed

from netlab.errors import BadInput
from netlab.study import load

FILE = """\
netlab: 1
name: crossed
title: Crossed
hosts: {left: {kind: lab}, right: {kind: lab}}
paths:
  cable: {ends: [{host: left}, {host: right}], link: {}}
groups:
  - {name: one, path: cable, sender: left}
tunings: [{name: plain, mtus_B: [1500, 9000], knobs: []}]
streams: [1, 4]
"""

SEND = "factors: {send: [copy, zerocopy]}"
REFUSED = (
    ("E-YAML-020 11 factors.colour", "factors: {colour: [red]}"),
    ("E-YAML-020 11 factors.record_length", "factors: {record_length: [64]}"),
    ("E-YAML-022 12 factors.send.1", "factors:\n  send: [copy, memcpy]"),
    ("E-YAML-022 11 factors.send", "factors: {send: []}"),
    ("E-YAML-022 11 factors", "factors: {send: [copy, copy]}"),
    ("E-STUDY-067 13 exclude.0.sendd", f"{SEND}\nexclude:\n  - {{sendd: copy}}"),
    (
        "E-STUDY-068 14 exclude.1.send",
        f"{SEND}\nexclude:\n  - {{send: copy, streams: 1}}\n  - {{send: splice}}",
    ),
    ("E-STUDY-066 11 exclude.0", "exclude: [{}]"),
    ("E-STUDY-069 11 exclude", "exclude: [{group: one}]"),
    ("E-STUDY-062 11 outer.streams", "outer: {streams: [a]}"),
    ("E-STUDY-142 11 outer.bottleneck", "outer: {bottleneck: [a, b]}"),
    ("E-STUDY-142 11 outer.host", "outer: {kernel: [a], host: [b]}"),
    ("E-STUDY-063 11 outer.kernel", "outer: {kernel: [a, a]}"),
    ("E-STUDY-065 11 engine", "engine: epoll\nfactors: {engine: [plain]}"),
    (
        "E-STUDY-065 12 socket.nodelay",
        "socket:\n  nodelay: true\nfactors: {nodelay: [true, false]}",
    ),
    (
        "E-STUDY-071 8 groups.0.name",
        "factors: {engine: [plain, blocking], send: [copy, zerocopy]}",
    ),
    ("E-STUDY-071 8 groups.0.name", "factors: {queues: [1, 2], rate_Mbps: [100]}"),
    (
        "E-STUDY-061 11 factors",
        f"factors: {{buffer_B: {[*range(400)]}, record_length_B: {[*range(1, 401)]}}}",
    ),
    (
        "E-STUDY-083 14 factors.congestion.1",
        "factors:\n  congestion:\n    - reno\n    - nosuch",
    ),
    ("E-STUDY-083 11 factors.congestion.1", "factors: {congestion: [reno, cubic+nosuch]}"),
)


@pytest.mark.parametrize(("expected", "text"), REFUSED)
def test_a_mistake_is_named_with_its_line_and_key(expected, text, tmp_path):
    code, line, key = expected.split()
    path = tmp_path / "my.yml"
    path.write_text(FILE + text + "\n", encoding="utf-8")
    with refused(BadInput, code) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert caught.value.key == key


def test_options_hosts_and_interfaces_that_do_not_go_with_a_factor_are_refused():
    with refused(BadInput, "E-STUDY-064", match="groups.0.buffer_B.*4096"):
        group = {**BASE["groups"][0], "buffer_B": 4096}
        crossed(factors={"buffer_B": [0, 65536]}, groups=[group])
    end = {"address": "192.0.2.1", "interface": "eth0"}
    other = {"address": "192.0.2.2", "interface": "eth0"}
    hosts = {name: {"kind": "ssh", "address": f"{name}.example"} for name in ("left", "right")}
    ends = [{"host": "left", **end}, {"host": "right", **other}]
    content = {"hosts": hosts, "paths": {"cable": {"ends": ends}}}
    assert crossed(**content, factors={"send": ["copy", "zerocopy"]})
    with refused(BadInput, "E-STUDY-070", match="groups.0.path.*rtt_ms"):
        crossed(**content, factors={"rtt_ms": [1, 2]})
    ends = [{"host": "left", "interface": "a0"}, {"host": "right"}]
    paths = {"cable": {"ends": ends, "link": {}}}
    assert crossed(paths=paths, factors={"queues": [2]})
    with refused(BadInput, "E-STUDY-075", match=r"paths\.cable\.ends"):
        crossed(paths=paths, factors={"queues": [1, 2]})
