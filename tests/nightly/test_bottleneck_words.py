"""The bottleneck of paths whose limit is known is named."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
import yaml
from e2e.conftest import measured_through, run_netlab, run_on_lab
from studies import two_hosts

from netlab.analysis.bottlenecks import verdicts
from netlab.measure.bottleneck import bottleneck
from netlab.results.store import Store

LINK = {"rate_Mbps": 500, "rtt_ms": 20, "queue_B": 2_500_000}
LARGE = {
    "net.ipv4.tcp_wmem": "4096 65536 16777216",
    "net.ipv4.tcp_rmem": "4096 131072 16777216",
}
SMALL = {"net.ipv4.tcp_wmem": "4096 65536 131072"}


def tuning(name: str, knobs: dict[str, str]) -> dict:
    listed = [{"kind": "sysctl", "name": knob, "value": value} for knob, value in knobs.items()]
    return {"name": name, "mtus_B": [1500], "knobs": listed}


def path(**more: float) -> dict:
    return {"ends": [{"host": "left"}, {"host": "right"}], "link": {"emulator": LINK | more}}


@pytest.mark.timeout(300)
def test_little_loss_on_a_long_path_and_a_small_send_buffer_are_named(tmp_path):
    """Reno at 0.05 % loss and 20 ms has 6 to 9 % of the link; 128 KiB of tcp_wmem 10 %."""
    content = two_hosts(
        "words",
        None,
        *({"name": name, "path": name, "congestion": "reno"} for name in ("lossy", "clean")),
        paths={"lossy": path(loss=0.0005), "clean": path()},
        tunings=[tuning("large", LARGE), tuning("small", SMALL)],
        timing={"rounds": 3, "seconds": 2.0, "warmup_s": 1.0, "interval_ms": 100},
    )
    measured_through(run_on_lab(tmp_path, content, timeout_s=280))
    found = verdicts(Store(tmp_path / "r").runs()).set_index(["group", "tuning"])["bottleneck"]
    assert found["lossy", "large"] == "loss"
    assert found["clean", "small"] == "send buffer"
    assert found["clean", "large"] == "link"


@contextmanager
def often_stopped(namespace: str) -> Iterator[None]:
    """Stop the agent of a lab host for 90 ms of every 100, as a program that is busy elsewhere."""
    over = threading.Event()

    def agents() -> list[int]:
        listed = subprocess.run(("ip", "netns", "pids", namespace), capture_output=True, text=True)
        lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in listed.stdout.split()}
        return [int(pid) for pid, line in lines.items() if b"\0agent\0" in line.read_bytes()]

    def stop_again() -> None:
        found: list[int] = []
        while not over.is_set():
            try:  # each visit has an agent of its own
                found = found or agents()
                for pid in found:
                    os.kill(pid, signal.SIGSTOP)
                    over.wait(0.09)
                    os.kill(pid, signal.SIGCONT)
            except OSError:
                found = []
            over.wait(0.01)

    thread = threading.Thread(target=stop_again)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


RUNS, RIGHT = 10, 9
CABLE = {"interrupt_delay_us": 0, "segmentation_offload": True, "checksum_offload": True}
SHAPER = ("tbf", "rate", "200mbit", "burst", "64kb", "limit", "500kb")


def words(
    tmp_path,
    link: dict,
    timing: dict,
    *,
    shaper: tuple[str, ...] = (),
    policer: tuple[str, ...] = (),
    stopped: str = "",
    congestion: str = "cubic",
) -> list[str]:
    """Words of the runs of a path with what its study does not know."""
    content = two_hosts(
        "truth",
        link,
        {"congestion": congestion},
        tunings=[tuning("large", LARGE)],
        timing={"rounds": RUNS, "interval_ms": 50, **timing},
    )
    file = tmp_path / "truth.yml"
    file.write_text(yaml.safe_dump(content))
    lab = re.search(r"lab ([0-9a-f]+)", run_netlab("lab", "up", str(file)).stdout).group(1)
    try:
        if shaper:
            line = ("tc", "qdisc", "replace", "dev", "data0", "root", *shaper)
            subprocess.run(("ip", "netns", "exec", f"nlab-{lab}-left", *line), check=True)
        for line in policer:
            argv = ("ip", "netns", "exec", f"nlab-{lab}-right", "nft", line)
            subprocess.run(argv, check=True)
        results = str(tmp_path / "r")
        with often_stopped(f"nlab-{lab}-{stopped}") if stopped else nullcontext():
            measured_through(run_netlab("run", str(file), "--results", results, timeout_s=280))
    finally:
        run_netlab("lab", "down", lab)
    runs = Store(tmp_path / "r").runs()
    return [bottleneck(row) for row in runs.to_dict("records")]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("rtt_ms", [0, 20])
def test_a_shaper_of_which_the_study_knows_nothing_is_a_link_of_its_rate(tmp_path, rtt_ms):
    link = {"emulator": {"rtt_ms": rtt_ms}} if rtt_ms else CABLE
    said = words(tmp_path, link, {"seconds": 2.0, "warmup_s": 0.5}, shaper=SHAPER)
    assert said.count("shaped link") >= RIGHT, said


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("stopped", "word"), [("right", "slow receiver"), ("left", "slow sender")])
def test_a_program_that_is_stopped_most_of_the_time_is_named(tmp_path, stopped, word):
    said = words(tmp_path, CABLE, {"seconds": 2.0, "warmup_s": 0.5}, stopped=stopped)
    assert said.count(word) >= RIGHT, said


@pytest.mark.timeout(400)
@pytest.mark.parametrize(("rate", "congestion"), [("25", "cubic"), ("5", "reno")])
def test_a_policer_of_which_the_study_knows_nothing_is_named(tmp_path, rate, congestion):
    limit = f"limit rate over {rate} mbytes/second burst 64 kbytes drop"
    policer = (
        "add table inet police",
        "add chain inet police in { type filter hook input priority 0 ; }",
        f"add rule inet police in iifname data0 {limit}",
    )
    link = {"emulator": {"rtt_ms": 20}}
    timing = {"seconds": 2.0, "warmup_s": 0.5}
    said = words(tmp_path, link, timing, policer=policer, congestion=congestion)
    assert said.count("policer") >= RIGHT, said


@pytest.mark.timeout(400)
def test_a_run_that_ends_in_slow_start_says_so(tmp_path):
    link = {"emulator": {"rtt_ms": 200, "rate_Mbps": 1000, "queue_B": 25_000_000}}
    said = words(tmp_path, link, {"seconds": 1.0, "warmup_s": 0.3})
    assert said.count("slow start") >= RIGHT, said
