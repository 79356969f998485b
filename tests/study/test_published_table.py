"""A published table beside a study is a CSV file and a few lines of YAML, or a clear error."""

from __future__ import annotations

import pytest
from refusals import refused

from netlab.errors import BadInput
from netlab.study import load
from netlab.study.file import freeze
from netlab.study.schedule import provenance_key, visits

STUDY = """\
netlab: 1
name: mine
title: Mine
hosts: {left: {kind: lab}, right: {kind: lab}}
paths:
  cable: {ends: [{host: left}, {host: right}], link: {}}
groups:
  - {name: one, path: cable, sender: left}
tunings: [{name: plain, mtus_B: [1500, 9000], knobs: []}]
streams: [1]
factors: {record_length_B: [1024, 65536]}
"""
TABLE = """\
title: Theirs
source: A paper, table 1
file: theirs.csv
columns: {payload: record_length_B, MTU: mtu_B, Gb/s: goodput_Gbps}
fluctuation_percent: 2
"""
CSV = "MTU,payload,Gb/s\n1500,1024,1.6\n1500,65536,2.4\n\n9000,1024,2.0\n9000,65536,4\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "mine.yml").write_text(STUDY + "published: theirs.yml\n")
    (tmp_path / "theirs.yml").write_text(TABLE)
    (tmp_path / "theirs.csv").write_text(CSV)
    return tmp_path


def test_a_table_beside_the_study_is_read_in_MB_a_second(place):
    table = load(place / "mine.yml").published
    assert (table.title, table.fluctuation_percent) == ("Theirs", 2)
    assert table.factors == ("mtu_B", "record_length_B")
    assert table.cells[0] == {"mtu_B": 1500, "record_length_B": 1024, "goodput_MBps": 200.0}
    assert [cell["goodput_MBps"] for cell in table.cells] == [200, 300, 250, 500]


def test_the_lines_of_yaml_may_stand_in_the_study(place):
    lines = "".join(f"  {line}\n" for line in TABLE.splitlines())
    whole = load(place / "mine.yml").published
    (place / "mine.yml").write_text(f"{STUDY}published:\n{lines}")
    assert load(place / "mine.yml").published == whole


def test_a_table_stays_with_the_frozen_study_and_changes_no_key(place, tmp_path):
    with_table = load(place / "mine.yml")
    (place / "mine.yml").write_text(STUDY)
    without = load(place / "mine.yml")
    assert with_table.digest() == without.digest()
    for one, other in zip(visits(with_table), visits(without), strict=True):
        for a, b in zip(one.runs, other.runs, strict=True):
            assert provenance_key(with_table, one, a, {}) == provenance_key(without, other, b, {})
    kept = freeze(with_table, tmp_path / "kept")
    assert load(kept).published == with_table.published


@pytest.mark.parametrize(
    ("csv", "code", "line"),
    [
        ("MTU,payload\n1500,1024\n", "E-STUDY-079", 1),
        ("MTU,MTU,Gb/s\n1500,1500,1\n", "E-STUDY-079", 1),
        ("MTU,payload,Gb/s\n1500,1024,1\n9000,1024\n", "E-STUDY-080", 3),
        ("MTU,payload,Gb/s\n1500,1024,much\n", "E-STUDY-081", 2),
        ("MTU,payload,Gb/s\n1500,1024,0\n", "E-STUDY-081", 2),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_line(place, csv, code, line):
    (place / "theirs.csv").write_text(csv)
    with refused(BadInput, code, match=f"theirs.csv:{line}: "):
        load(place / "mine.yml")


def test_a_table_that_is_not_there_or_elsewhere_is_refused(place):
    (place / "theirs.csv").unlink()
    with refused(BadInput, "E-STUDY-078", match=r"theirs\.csv"):
        load(place / "mine.yml")
    (place / "mine.yml").write_text(STUDY + "published: ../theirs.yml\n")
    with refused(BadInput, "E-STUDY-077", match="theirs.yml"):
        load(place / "mine.yml")


def test_a_column_that_is_no_factor_is_refused(place):
    (place / "theirs.csv").write_text("MTU,colour,Gb/s\n1500,red,1\n")
    with refused(BadInput, "E-STUDY-082", match=r"mine\.yml:12: .*colour"):
        load(place / "mine.yml")
