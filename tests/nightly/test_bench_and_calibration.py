"""A benchmark of each tool at its best, and the accuracy of core and emulator."""

from __future__ import annotations

from netlab.results.store import Store
from tests.e2e.conftest import run_netlab
from tests.e2e.test_bench_runs import calibrated


def test_each_tool_runs_at_its_best_the_variant_that_its_heats_chose(tmp_path):
    cell = ("--streams", "4", "--mtu", "9000", "--offloads", "on", "--mode", "best")
    how = ("--rounds", "1", "--seconds", "1", "--peer", "iperf2", "--out", str(tmp_path))
    done = run_netlab("bench", "--quick", *cell, *how, timeout_s=280)
    assert done.returncode == 0, done.stderr
    (directory,) = tmp_path.iterdir()
    heats = Store(directory / "heats").runs()
    assert len(heats) == 6 and heats["goodput_MBps"].notna().all()
    best = heats.sort_values("goodput_MBps").assign(who=heats["group"].str.split(" ").str[0])
    chosen = best.groupby("who")["group"].last()
    assert set(Store(directory).runs()["group"]) == set(chosen)
    assert all(group.split(" ", 2)[2] in done.stdout for group in chosen)


def test_calibrate_holds_core_and_emulator_to_what_is_known(awake, tmp_path):
    document, done = calibrated(tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,), emulator = document["cells"], document["emulator"]
    (rate,) = emulator["rates"]
    verdicts = {one["verdict"] for one in (cell, rate, *emulator["round_trips"])}
    assert verdicts == {"within"}, document
    assert rate["error_percent"] < 5 and emulator["round_trips"][1]["goodput_Mbps"] > 20
