"""Comparisons of results in Python: what they show, and what they refuse."""

from __future__ import annotations

from refusals import refused

import netlab
from netlab.errors import BadInput


def test_an_empty_side_is_none_and_a_side_may_name_a_campaign(stores):
    found = netlab.compare(str(stores / "a"), "", by="tuning=none,full")
    assert found.frame["ratio"].gt(1).any()
    with refused(BadInput, "E-ANALYSIS-029"):
        netlab.compare(str(stores / "a"), "")
    with refused(BadInput, "E-RESULTS-029"):
        netlab.compare(f"{stores / 'a'}@20260101T000000Z", stores / "b")
