"""A search on a real lab path finds what is better by far."""

from __future__ import annotations

import json

from e2e.lab_search import BUDGET_S, search

from netlab.search.autotune.report import taken
from netlab.search.autotune.run import SLACK_S
from netlab.study import load


def test_records_of_1_KiB_lose_against_128_KiB(tmp_path):
    """Each byte costs a hundred times the calls, so few rounds tell them apart.

    Only the last race's interval is tested; the search reports too few rounds by itself.
    """
    levels = ("--record-length", "131072", "--buffer", "262144", "--streams", "1")
    done, wall_s = search(tmp_path, *levels, record_length_B=1024)
    assert done.returncode == 0, done.stderr
    assert wall_s <= BUDGET_S + SLACK_S
    document = json.loads((tmp_path / "best.json").read_text())
    assert document["verdict"] == "better than what you had", done.stdout + done.stderr
    assert document["winner"]["record_length_B"] == 131072
    assert document["gain"]["low"] > 0
    for sample in document["samples"]:
        assert sample["counted"] == (set(sample["flags"].split(",")) <= {"", "interference"})
    best = taken(load(tmp_path / "tuned.yml"), tmp_path / "best.yml")
    assert best.groups[0].record_length_B == 131072
    assert (tmp_path / "best.svg").read_text().startswith("<svg ")
    assert "round 1" in done.stderr and "out: " in done.stderr
