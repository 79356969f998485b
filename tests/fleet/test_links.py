"""Known effects of a fleet are found: a slow host, a slow link, and a slow direction."""

from __future__ import annotations

import time

import numpy as np
import pytest
from fleet.fleet_effects import EFFECTS, ONE_WAY, SLOW_HOST, SLOW_LINK, fleet_runs

from netlab.fleet.links import asymmetric, link_cells, links


@pytest.fixture(scope="module")
def found():
    return links(link_cells(fleet_runs(16, 5))).set_index(["sender", "receiver"])


def test_shares_are_the_known_effects_slowest_first_and_the_slow_direction_asymmetric(found):
    assert len(found) == 16 * 15 and (found["cells"] == 2).all()
    of_slow_host = found[[SLOW_HOST in link for link in found.index]]
    assert of_slow_host["share"].to_numpy() == pytest.approx(EFFECTS["host"], rel=0.04)
    for link in (SLOW_LINK, SLOW_LINK[::-1]):
        assert found.loc[link, "share"] == pytest.approx(EFFECTS["link"], rel=0.04)
    assert found.loc[ONE_WAY, "share"] == pytest.approx(EFFECTS["way"], rel=0.04)
    rest = found.drop(of_slow_host.index).drop([SLOW_LINK, SLOW_LINK[::-1], ONE_WAY])
    assert rest["share"].to_numpy() == pytest.approx(1.0, rel=0.04)
    assert {*found.index[:2]} == {SLOW_LINK, SLOW_LINK[::-1]}
    assert list(found.index[asymmetric(found)]) == [ONE_WAY]
    one_way = found.loc[[ONE_WAY]].reset_index()
    one_way["reverse"] = np.nan  # not measured
    assert not asymmetric(one_way).any()


def test_intervals_cover_the_expected_goodput_as_often_as_they_say():
    cells = link_cells(fleet_runs(30, 5), confidence=0.95)
    plain = cells[~cells["sender"].isin(["h03", "h05", "h06", "h08"])]
    plain = plain[~plain["receiver"].isin(["h03"])]
    expected = np.where(plain["cell"].str.endswith("@1"), 400.0, 1100.0)
    inside = (plain["low_MBps"] <= expected) & (expected <= plain["high_MBps"])
    assert 0.92 < inside.mean() < 0.98


def test_flagged_runs_are_left_out_and_two_runs_carry_no_interval():
    runs = fleet_runs(10, 3)
    runs.loc[runs["round"] == 1, "flags"] = "stalled"
    runs.loc[runs["round"] == 1, "goodput_MBps"] = 1.0
    cells = link_cells(runs)
    assert (cells["runs"] == 2).all() and cells["low_MBps"].isna().all()
    assert cells["goodput_MBps"].min() > 150


def test_a_hundred_thousand_runs_take_seconds():
    runs = fleet_runs(100, 5)
    began_s = time.process_time()
    table = links(link_cells(runs))
    assert len(runs) == 99_000 and len(table) == 9_900
    assert time.process_time() - began_s < 10
