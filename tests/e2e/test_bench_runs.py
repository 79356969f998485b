"""A benchmark and a calibration of one cell each, on real paths, cleaned up after."""

import json
import signal
import subprocess
import time
from pathlib import Path

from tests.e2e.conftest import NETLAB, ROOT, run_netlab, stored

CELL = (
    *("--streams", "1", "--mtu", "9000", "--offloads", "on", "--mode", "same"),
    *("--seconds", "1", "--peer", "iperf3"),
)


def test_bench_compares_with_iperf3_and_leaves_nothing(tmp_path, machine_untouched):
    done = run_netlab("bench", "--queues", "1", "--rounds", "3", *CELL, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    document = stored(tmp_path, "bench.json")
    samples = document["samples"]
    assert [one["error"] for one in samples] == [""] * 9
    assert {one["flags"] for one in samples} <= {"", "interference"}
    names = sorted(one["contender"] for one in samples)
    assert names == ["gensink"] * 3 + ["iperf3"] * 3 + ["plain"] * 3
    for one in samples:
        assert one["record_length_B"] == 131072
        # the tool's own count and the interface's are of the same transfer
        assert one["goodput_MBps"] * 1e6 * one["window_s"] <= 1.02 * one["payload_B"]
        assert one["busy_s"] > 0
    ours, plain, best = document["ratios"]
    assert [row["other"] for row in (ours, plain, best)] == ["iperf3", "plain", "best peer"]
    assert best["against"] == "iperf3"
    assert ours["pairs"] + ours["disturbed"] == 3
    if ours["pairs"] == 3:
        assert ours["low"] <= ours["ratio"] <= ours["high"]
        assert ours["verdict"] in ("faster", "slower", "the same", "cannot tell")
    else:
        assert ours["verdict"] == "cannot tell" and "undisturbed" in ours["reason"]
    charts = [path.read_text() for path in tmp_path.glob("*/bench.svg")]
    drawn = any(row["ratio"] is not None for row in document["ratios"])
    assert [text.startswith("<svg ") for text in charts] == [True] * drawn
    assert "iperf 3" in done.stdout
    assert document["settings"]["queues"] == 1 and "one pair of queues" in done.stdout


def test_a_benchmark_that_is_interrupted_keeps_its_transfers(tmp_path, machine_untouched):
    argv = (*NETLAB, "bench", "--rounds", "50", *CELL, "--out", str(tmp_path))
    with subprocess.Popen(argv, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not (files := list(tmp_path.glob("*/transfers.jsonl"))) or (
            files[0].read_text().count("\n") < 3
        ):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    transfers = [json.loads(line) for line in files[0].read_text().splitlines()]
    assert {one["contender"] for one in transfers} <= {"gensink", "iperf3", "plain"}
    assert [one["error"] for one in transfers] == [""] * len(transfers)
    assert f"{len(transfers)} transfers were made before that, see {files[0]}" in message
    assert [path.name for path in files[0].parent.iterdir()] == ["transfers.jsonl"]


def test_calibrate_measures_core_and_emulator_and_leaves_nothing(tmp_path, machine_untouched):
    """``tests/nightly/test_bench_and_calibration.py`` asserts their accuracy."""
    document, done = calibrated(tmp_path)
    (cell,), samples = document["cells"], document["samples"]
    assert len(samples) == cell["runs"] == 1
    assert not any("ledger_mismatch" in sample["flags"] for sample in samples), samples
    idle, loaded = document["emulator"]["round_trips"]
    assert [one["load"] for one in (idle, loaded)] == ["idle", "loaded"]
    for one in (idle, loaded):
        assert one["tries"] == 3 and one["pings"] == 120 and one["late_us"] > 0
        assert one["least_us"] <= one["deviation_us"] <= one["greatest_us"]
        # other work makes a round trip longer, and none shorter
        assert one["mean_ms"] > 9.8
    verdicts = {one["verdict"] for one in (cell, idle, loaded, *document["emulator"]["rates"])}
    assert done.returncode == (0 if verdicts == {"within"} else 1), done.stderr
    assert "The emulator's accuracy" in done.stdout


def calibrated(place: Path) -> tuple[dict, subprocess.CompletedProcess]:
    """The document of a calibration of one cell, and the command that made it."""
    # A large segment let out whole, 58 ms of this rate, would put such a window 2 % off at least.
    rate = ("--rate", "10", "--mtu", "576", "--seconds", "0.8", "--repeats", "1")
    done = run_netlab("calibrate", "--quick", *rate, "--rtt", "10", "--out", str(place))
    return stored(place, "calibration.json"), done
