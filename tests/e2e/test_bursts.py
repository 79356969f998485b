"""A path with a token bucket: the burst is a finding, and what follows it is the answer."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from e2e.conftest import below_gate, run_netlab
from machine_pause import watched
from studies import two_hosts

import netlab
from netlab.measure.fairness import STALL_S
from netlab.results.store import Store
from netlab.survey.short_study import _answer, _in_words

RATE_MBPS, CREDIT = 10.0, "100mb"
"""Full when the first run begins; how much fills before a second one depends on the machine. The
rate is a quarter of what two busy processors carry: a smaller fall beside them does not count."""

STUDY = two_hosts(
    "bucket",
    {"interrupt_delay_us": 0, "segmentation_offload": True, "checksum_offload": True},
    tunings=[{"name": "openlab-2003-normal", "mtus_B": [1500]}],
    timing={"rounds": 1, "seconds": 4.0, "warmup_s": 0.05, "interval_ms": 50},
)


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Path]:
    """A lab that is up and whose sender's interface has a bucket, as a router's or a cloud's."""
    file = tmp_path / "bucket.yml"
    file.write_text(yaml.safe_dump(STUDY))
    made = run_netlab("lab", "up", str(file))
    name = re.search(r"lab ([0-9a-f]+)", made.stdout).group(1)
    bucket = ("tbf", "rate", f"{8 * RATE_MBPS:g}mbit", "burst", CREDIT, "limit", "1mb")
    left = ("ip", "netns", "exec", f"nlab-{name}-left")
    try:
        line = (*left, "tc", "qdisc", "replace", "dev", "data0", "root", *bucket)
        subprocess.run(line, check=True)
        yield file
    finally:
        run_netlab("lab", "down", name)


@pytest.mark.timeout(300)
def test_a_credit_that_ends_within_a_run_is_said_and_what_follows_is_the_answer(study, tmp_path):
    with watched() as pause:
        done = run_netlab("run", str(study), "--results", str(tmp_path / "r"), timeout_s=200)
    assert done.returncode in (0, 4) or below_gate(done), done.stderr
    runs = Store(tmp_path / "r").runs()
    if pause.longest_s > STALL_S and runs["flags"].eq("stalled").all():
        return  # the machine stopped both ends, and the run says that no byte came
    assert runs["flags"].str.contains("unsteady").all(), runs[["flags", "message", "goodput_MBps"]]
    assert runs["message"].str.contains(r"until \d\S* s, then (?:[5-9]|1[01])\S* MB/s").all()
    carried = RATE_MBPS * 1448 / 1514
    # a reader that waits for a CPU has some of the burst after its end
    assert (runs["sustained_MBps"] / carried).between(0.5, 1.25).all()
    assert (runs["burst_MBps"] > 2 * carried).all()

    results = netlab.Results(study, results=tmp_path / "r")
    said = str(results.headline)
    assert re.search(r"a burst, then (?:[5-9]|1[01])", said) and "1 of 1 run)" in said
    assert results.cells["disturbed_MBps"].item() == runs["sustained_MBps"].median()

    checked = run_netlab("check", str(study), "--results", str(tmp_path / "r"))
    assert "1 of 1 earlier runs began with a burst" in checked.stdout, checked.stderr
    assert "measure longer: timing.warmup_s of" in checked.stdout

    answer = _answer(tmp_path / "r", ())
    assert answer["disturbed"] and "measure longer" in _in_words(answer)
    assert "quiet the hosts" not in _in_words(answer)
