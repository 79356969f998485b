"""A benchmark of each tool at its best, and the accuracy of core and emulator."""

from __future__ import annotations

import pytest
from e2e.calibrated_lab import calibrated
from e2e.conftest import run_netlab, stored

from netlab.qualify.words.confusion import LEAST_RIGHT
from netlab.qualify.words.truths import TRUTHS
from netlab.results.store import Store


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


@pytest.mark.timeout(1500)
def test_the_words_of_known_limits_are_right_in_nine_of_ten_runs(awake, tmp_path):
    done = run_netlab("calibrate", "--words", "--out", str(tmp_path), timeout_s=1400)
    rows = stored(tmp_path, "words.json")["confusion"]
    assert [row["truth"] for row in rows] == [truth.name for truth in TRUTHS]
    assert all(row["right"] >= LEAST_RIGHT * 10 for row in rows), done.stdout
    assert done.returncode == 0 and "Words of runs whose limit is known" in done.stdout
