"""A benchmark of each tool at its best, and the accuracy of core and emulator."""

from __future__ import annotations

from netlab.lab.link import queue_a_cpu
from tests.e2e.conftest import run_netlab, stored
from tests.e2e.test_bench_runs import calibrated


def test_each_tool_runs_at_its_best_the_variant_that_its_heats_chose(tmp_path):
    cell = ("--streams", "4", "--mtu", "9000", "--offloads", "on", "--mode", "best")
    how = ("--rounds", "1", "--seconds", "1", "--peer", "iperf2", "--out", str(tmp_path))
    done = run_netlab("bench", "--quick", *cell, *how)
    assert done.returncode == 0, done.stderr
    document = stored(tmp_path, "bench.json")
    assert document["settings"]["queues"] == queue_a_cpu()
    assert len(document["heats"]) == 6
    best = {}
    for heat in document["heats"]:
        assert heat["error"] == ""
        name = heat["contender"]
        best[name] = max(best.get(name, heat), heat, key=lambda one: one["goodput_MBps"])
    chosen = {one["contender"]: one["variant"] for one in document["variants"] if one["chosen"]}
    assert chosen == {name: heat["variant"] for name, heat in best.items()}
    assert {one["contender"]: one["variant"] for one in document["samples"]} == chosen
    assert all(label in done.stdout for label in chosen.values())


def test_calibrate_holds_core_and_emulator_to_what_is_known(tmp_path):
    document, done = calibrated(tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,), emulator = document["cells"], document["emulator"]
    (rate,) = emulator["rates"]
    verdicts = {one["verdict"] for one in (cell, rate, *emulator["round_trips"])}
    assert verdicts == {"within"}, document
    assert rate["error_percent"] < 5 and emulator["round_trips"][1]["goodput_Mbps"] > 20
