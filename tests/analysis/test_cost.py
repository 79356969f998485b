"""CPU time for every GB: all cores of both machines, one machine counted once."""

from __future__ import annotations

import json

import pytest
import synthetic

from netlab.analysis.cost import cpu_cost


def test_the_machine_of_a_lab_is_counted_once(runs, openlab):
    frame = cpu_cost(runs, openlab)
    part = runs[(runs["group"] == "Linux64 -> Linux64") & (runs["tuning"] == "full")]
    part = part[(part["mtu_B"] == 9000) & (part["streams"] == 4)]
    expected = 0.6 * 2 / (part["goodput_MBps"] / 1e3)
    row = frame[
        (frame["group"] == "Linux64 -> Linux64")
        & (frame["tuning"] == "full")
        & (frame["mtu_B"] == 9000)
        & (frame["streams"] == 4)
    ].iloc[0]
    assert row["cpu_s_per_GB"] == pytest.approx(expected.median())
    assert (row["low"], row["high"]) == pytest.approx((expected.min(), expected.max()))
    assert row["n"] == 3


def test_two_machines_are_added_and_flagged_runs_left_out(tmp_path):
    study = synthetic.foreign(tmp_path)
    hosts = {"left": {"cpus": 4}, "right": {"cpus": 8}}
    runs = synthetic.runs_of(study).assign(provenance=json.dumps({"hosts": hosts}))
    cost = cpu_cost(runs, study)
    busy = 0.6 * 4 + 0.6 * 8
    assert cost["cpu_s_per_GB"].to_numpy() == pytest.approx(
        (busy / (runs["goodput_MBps"] / 1e3)).to_numpy()
    )
    assert len(cpu_cost(runs.assign(flags="stalled"), study)) == 0
    one = {host: facts | {"boot_id": "1-a"} for host, facts in hosts.items()}
    once = cpu_cost(runs.assign(provenance=json.dumps({"hosts": one})), study)
    assert once["cpu_s_per_GB"].to_numpy() * 3 == pytest.approx(cost["cpu_s_per_GB"].to_numpy())


def test_a_host_without_a_number_of_cpus_or_a_meter_has_no_cost(runs, openlab):
    assert set(cpu_cost(runs, openlab)["group"]) == {
        "Linux64 -> Linux64",
        "Linux64 <-> Linux64",
        "Linux64 -> Linux32",
    }
    assert cpu_cost(runs.assign(sender_cpu_percent=float("nan")), openlab).empty
