"""Outlying hosts are named, their partners are not, and without one few fleets name any."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from fleet.fleet_effects import EFFECTS, SLOW_HOST, fleet_runs

from netlab.fleet.links import link_cells, links
from netlab.fleet.outlying_hosts import outlying_hosts

FLEETS = 120


def fleet(logs: np.ndarray) -> pd.DataFrame:
    """Links from a matrix of the logarithms of their shares; NaN is a link that is not there."""
    sender, receiver = np.nonzero(np.isfinite(logs))
    return pd.DataFrame(
        {
            "sender": [f"h{host:02}" for host in sender],
            "receiver": [f"h{host:02}" for host in receiver],
            "share": np.exp(logs[sender, receiver]),
        }
    )


def noise(generator: np.random.Generator, hosts: int, tails: str) -> np.ndarray:
    shape = (hosts, hosts)
    draw = {
        "normal": generator.standard_normal,
        "heavy": lambda shape: generator.standard_t(3, shape),
        "skewed": lambda shape: -generator.exponential(1.0, shape),
    }
    logs = 0.02 * draw[tails](shape)
    np.fill_diagonal(logs, np.nan)
    return logs


def test_the_slow_host_is_named_with_its_share_and_no_partner_of_it():
    found = outlying_hosts(links(link_cells(fleet_runs(16, 5))))
    assert [*found["host"]] == [SLOW_HOST] * 2
    assert {*found["role"]} == {"sends", "receives"} and (found["links"] == 15).all()
    assert found["share"].to_numpy() == pytest.approx(EFFECTS["host"], rel=0.03)
    assert (found["p"] < 1e-4).all()


@pytest.mark.parametrize("tails", ["normal", "heavy", "skewed"])
@pytest.mark.parametrize("hosts", [5, 14])
def test_where_no_host_differs_few_fleets_name_one(hosts, tails):
    generator = np.random.default_rng(hosts)
    named = sum(
        not outlying_hosts(fleet(noise(generator, hosts, tails))).empty for _ in range(FLEETS)
    )
    assert named / FLEETS < 0.05 + 2 * np.sqrt(0.05 * 0.95 / FLEETS)


@pytest.mark.parametrize("tails", ["normal", "heavy", "skewed"])
def test_three_slow_hosts_of_twelve_are_named_and_no_other(tails):
    generator = np.random.default_rng(7)
    expected = {("h01", "sends"), ("h04", "receives"), ("h07", "sends"), ("h07", "receives")}
    missed = others = 0
    for _ in range(100):
        logs = noise(generator, 12, tails)
        logs[[1, 7], :] += np.log(0.85)
        logs[:, [4, 7]] += np.log(0.85)
        named = {(one.host, one.role) for one in outlying_hosts(fleet(logs)).itertuples()}
        missed += len(expected - named)
        others += len(named - expected)
    assert missed <= 8, "of 400"
    assert others <= 8, "of 2,000"


def test_a_small_difference_is_not_named_and_a_faster_host_is():
    logs = noise(np.random.default_rng(3), 20, "normal") / 20
    logs[2, :] += np.log(0.99)
    logs[:, 5] += np.log(1.2)
    (only,) = outlying_hosts(fleet(logs)).itertuples()
    assert (only.host, only.role) == ("h05", "receives")
    assert only.share == pytest.approx(1.2, rel=0.01)


def test_a_ring_has_too_few_links_to_judge_a_host_and_no_link_names_none():
    logs = np.full((12, 12), np.nan)
    assert outlying_hosts(fleet(logs)).empty
    for host in range(12):
        logs[host, (host + 1) % 12] = logs[(host + 1) % 12, host] = -0.5 * (host == 3)
    assert outlying_hosts(fleet(logs)).empty
