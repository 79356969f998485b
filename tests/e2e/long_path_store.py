"""Results of the long path on a lab."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from e2e.conftest import measured_through, run_netlab

from netlab.results.store import Store

SETTINGS = Path("/proc/sys/net/ipv4")


QUEUE_B = 375_000


LOSS_S = 1.2


def content() -> dict:
    """Runs of seconds at 30 ms and 100 Mb/s: stacks of three origins."""
    ends = [{"host": "west"}, {"host": "east"}]
    emulator = {"with": "netlab", "rtt_ms": 30.0, "rate_Mbps": 100.0, "queue_B": QUEUE_B}
    run = {
        **{"part": "comparison", "path": "far", "sender": "west", "streams": [1]},
        **{"record_length_B": 65536, "buffer_B": 4_000_000},
    }
    loss = {**run, "part": "recovery", "force_loss_at_s": LOSS_S}
    two = {**run, "part": "fairness", "streams": [2]}
    groups = [
        {**run, "name": "Reno", "congestion": "reno"},
        {**run, "name": "Scalable", "congestion": "scalable"},
        {**loss, "name": "Reno (a loss)", "congestion": "reno"},
        {**loss, "name": "Scalable (a loss)", "congestion": "scalable"},
        {**two, "name": "wad and CUBIC", "congestion": "wad+cubic"},
        {**run, "name": "HighSpeed both ways", "direction": "<->", "congestion": "highspeed"},
        {
            **{**run, "name": "amount", "part": "transfer", "congestion": "reno"},
            **{"records": 200, "sender": "east"},
        },
    ]
    wad = {"law": "aimd", "increase": 6, "decrease": 0.3, "max_ssthresh_segments": 100}
    return {
        **{"netlab": 1, "name": "far", "title": "A long path"},
        "hosts": {
            "west": {"kind": "lab", "profiles": {"B": "slac-2003-b-txq3000"}},
            "east": {"kind": "lab", "profiles": {"B": "slac-2003-receiver"}},
        },
        "paths": {"far": {"ends": ends, "link": {"emulator": emulator}}},
        "groups": groups,
        "stacks": {"wad": wad},
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
def store(tmp_path_factory) -> Store:
    work = tmp_path_factory.mktemp("far")
    (work / "far.yml").write_text(yaml.safe_dump(content(), sort_keys=False))
    before = machine()
    ran = run_netlab("run", str(work / "far.yml"), "--results", str(work / "r"), timeout_s=240)
    measured_through(ran)
    assert machine() == before
    return Store(work / "r")
