"""A study of a long path through the command: two stacks, a loss, an amount, and its site."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from netlab.results.store import Store
from tests.e2e.conftest import below_gate, measured_through, run_netlab

SETTINGS = Path("/proc/sys/net/ipv4")


def content() -> dict:
    """Six runs of seconds at 30 ms and 100 Mb/s, one stack of the kernel's and one of netlab's."""
    ends = [{"host": "west"}, {"host": "east"}]
    emulator = {"rtt_ms": 30.0, "rate_Mbps": 100.0, "queue_B": 375_000}
    run = {
        **{"part": "comparison", "path": "far", "sender": "west", "streams": [1]},
        **{"record_length_B": 65536, "buffer_B": 4_000_000},
    }
    loss = {**run, "part": "recovery", "force_loss_at_s": 1.2}
    groups = [
        {**run, "name": "Reno", "congestion": "reno"},
        {**run, "name": "Scalable", "congestion": "scalable"},
        {**loss, "name": "Reno (a loss)", "congestion": "reno"},
        {**loss, "name": "Scalable (a loss)", "congestion": "scalable"},
        {**run, "name": "two", "part": "fairness", "congestion": "scalable+reno", "streams": [2]},
        {**run, "name": "amount", "part": "transfer", "congestion": "reno", "records": 200},
    ]
    return {
        **{"netlab": 1, "name": "far", "title": "A long path"},
        "hosts": {
            "west": {"kind": "lab", "profiles": {"B": "slac-2003-b-txq3000"}},
            "east": {"kind": "lab", "profiles": {"B": "slac-2003-receiver"}},
        },
        "paths": {"far": {"ends": ends, "link": {"emulator": emulator}}},
        "groups": groups,
        "tunings": [{"name": "B", "mtus_B": [9000]}],
        **{"streams": [1, 2], "congestion": "reno", "force_buffer": True, "trace": True},
        "timing": {"rounds": 1, "seconds": 2.5, "warmup_s": 0.7, "interval_ms": 50},
    }


def machine() -> dict[str, object]:
    """The machine's default stack, modules and TCP memory: what other work does not change."""
    modules = Path("/proc/modules")  # a kernel may have none
    names = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem", "tcp_mem")
    listed = modules.read_text().splitlines() if modules.exists() else []
    # a network namespace has some of them only
    settings = {name: (SETTINGS / name).read_text() for name in names if (SETTINGS / name).exists()}
    return {**settings, "modules": sorted(line.split()[0] for line in listed)}


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Path:
    """The directory of a whole study: its results, its file and its site."""
    work = tmp_path_factory.mktemp("far")
    (work / "far.yml").write_text(yaml.safe_dump(content(), sort_keys=False))
    before = machine()
    ran = run_netlab("run", str(work / "far.yml"), "--results", str(work / "r"), timeout_s=240)
    measured_through(ran)
    assert machine() == before
    argv = ("report", str(work / "far.yml"), "--results", str(work / "r"))
    report = run_netlab(*argv, "--site", str(work / "site"), timeout_s=300)
    assert report.returncode == 0 or below_gate(report), report.stderr
    return work


def test_every_run_was_made_with_the_stack_it_names(done):
    runs = Store(done / "r").runs().set_index("group")
    assert len(runs) == 6
    assert not runs["flags"].str.contains("failed|lost_host").any(), runs["message"].tolist()
    assert runs.loc["Scalable", "congestion_source"].startswith("bpf scalable")
    assert runs.loc["Reno", "congestion_source"].startswith("kernel reno")
    assert (runs["ledger_error_B"] == 0).all()


def test_an_amount_is_timed_by_its_bytes(done):
    row = Store(done / "r").runs().set_index("group").loc["amount"]
    assert row["records"] == 200 and row["received_B"] == 200 * 65536
    # 13.1 MB of payload at 100 Mb/s of frames take 1.05 s at least
    assert 1.05 < row["window_s"] < 20


def test_the_site_shows_the_long_path(done):
    index = (done / "site" / "index.html").read_text()
    tables = (done / "site" / "tables.html").read_text()
    page = (done / "site" / "17-slac-measured.html").read_text()
    assert "The emulated paths" in tables and "Goodput after slow start" in tables
    assert "<figure" in index
    for words in ("A loss, and the law", "Two flows", "amount transferred", "rtt min/avg/max"):
        assert words in page
    assert page.count("<figure") >= 4
    # no group has more than one number of streams, so charts over streams would be of one point
    assert not (done / "site" / "03-openlab-measured.html").exists()
