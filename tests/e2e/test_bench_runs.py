"""A benchmark and a calibration of one cell each, on real paths, cleaned up after."""

import signal
import subprocess

import pandas as pd
from e2e.calibrated_lab import calibrated
from e2e.conftest import NETLAB, ROOT, run_netlab
from waiting import until

from netlab.results.store import Store

CELL = (
    *("--streams", "1", "--mtu", "9000", "--offloads", "on", "--mode", "same"),
    *("--seconds", "1", "--peer", "iperf3"),
)


def test_an_interrupted_benchmark_goes_on_compares_and_leaves_nothing(tmp_path, machine_untouched):
    how = ("--queues", "1", "--rounds", "3", *CELL, "--out", str(tmp_path))
    with subprocess.Popen(
        (*NETLAB, "bench", *how), cwd=ROOT, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: list(tmp_path.glob("*/runs/*.parquet")), 240)
        process.send_signal(signal.SIGINT)
        message = process.communicate(timeout=60)[1]
    assert process.returncode == 130 and "run again to go on" in message
    (directory,) = tmp_path.iterdir()
    before = Store(directory).runs()
    done = run_netlab("bench", *how, timeout_s=280)
    assert done.returncode == 0 and list(tmp_path.iterdir()) == [directory], done.stderr
    runs = Store(directory).runs()
    names = runs["group"].str.split(" ").str[0].tolist()
    assert sorted(names) == ["gensink"] * 3 + ["iperf3"] * 3 + ["plain"] * 3
    assert set(before[before["flags"] == ""]["started_at"]) <= set(runs["started_at"])
    # a busy machine may delay a stream past its window, but loses no byte
    broken = runs["flags"].str.contains("failed|ledger_mismatch|implausible")
    assert not broken.any(), runs[["group", "message"]].to_string()
    assert (runs["record_length_B"] == 131072).all() and (runs["receiver_cpu_percent"] > 0).all()
    assert set(runs["congestion_in_force"].dropna()) == {"cubic"}
    ratios = pd.read_csv(directory / "bench-ratios.csv")
    assert ratios.iloc[:, 4].tolist() == ["iperf3", "plain", "best peer"]
    assert set(ratios["verdict"]) <= {"faster", "slower", "the same", "cannot tell", "no interval"}
    drawn = [path.read_text()[:5] for path in directory.glob("bench.svg")]
    assert drawn == (["<svg "] if ratios["ratio"].notna().any() else [])
    assert "iperf 3" in done.stdout and "one pair of queues" in done.stdout


def test_calibrate_measures_core_and_emulator_and_leaves_nothing(tmp_path, machine_untouched):
    """``tests/nightly/test_bench_and_calibration.py`` asserts their accuracy."""
    document, done = calibrated(tmp_path)
    (cell,), samples = document["cells"], document["samples"]
    assert len(samples) == cell["runs"] == 1
    assert not any("ledger_mismatch" in sample["flags"] for sample in samples), samples
    idle, loaded = document["emulator"]["round_trips"]
    assert [one["load"] for one in (idle, loaded)] == ["idle", "loaded"]
    for one in (idle, loaded):
        # on a busy machine an answer may come after the end of its ping
        assert one["tries"] == 3 and 110 <= one["pings"] <= 120 and one["late_us"] > 0
        assert one["least_us"] <= one["deviation_us"] <= one["greatest_us"]
        # other work makes a round trip longer, and none shorter
        assert one["mean_ms"] > 9.8
    verdicts = {one["verdict"] for one in (cell, idle, loaded, *document["emulator"]["rates"])}
    assert done.returncode == (0 if verdicts == {"within"} else 1), done.stderr
    assert "Round trips of the emulator" in done.stdout
