"""A lab path with an emulator: as long as the study says, reported, and gone with the lab."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import lab_owner
import pytest
from lab_study import lab_study

from netlab.errors import BadInput, HostError
from netlab.experiment.endpoint import data_address
from netlab.lab import reaper
from netlab.lab.lab import Lab

ROOT = Path(lab_owner.__file__).parents[1]
STUDY = lab_study(
    {"a": {"kind": "lab"}, "b": {"kind": "lab"}, "c": {"kind": "lab"}},
    {
        "long": {
            "ends": [{"host": "a"}, {"host": "b"}],
            "link": {
                "emulator": {
                    "with": "netlab",
                    "delay_ms": [5.0, 15.0],
                    "rate_Mbps": 100.0,
                    "queue_packets": 50,
                }
            },
        },
        "short": {"ends": [{"host": "a"}, {"host": "c"}], "link": {}},
    },
)


@pytest.fixture(scope="module")
def lab():
    with Lab.up(STUDY, owned=True) as lab:
        yield lab


def ping_ms(lab: Lab) -> float:
    argv = ("ip", "netns", "exec", lab.namespace("a"), "ping", "-n", "-q", "-c", "5", "-i", "0.05")
    address = data_address(STUDY, "long", "b")
    done = subprocess.run((*argv, address), capture_output=True, text=True, timeout=20)
    return float(re.search(r"= ([\d.]+)/", done.stdout)[1])


def wait_gone(pid: int) -> None:
    deadline = time.monotonic() + 15
    while os.path.isdir(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not os.path.isdir(f"/proc/{pid}")


def test_the_path_is_as_long_as_the_study_says(lab):
    """Other work adds to a round trip; the compensation for wake-ups may take some 0.1 ms off."""
    assert ping_ms(lab) > 19.8
    directions = lab.emulator("long").report()["directions"]
    assert [way["delay_us"] for way in directions] == [5000, 15000]
    assert [way["rate_bps"] for way in directions] == [100_000_000] * 2
    assert [way["queue_limit_packets"] for way in directions] == [50, 50]
    assert all(way["in_packets"] == way["out_packets"] >= 5 for way in directions)


def test_its_ends_are_set_like_any_interface(lab):
    for end in lab.describe()["long"].values():
        assert end["tso"] and end["txqueuelen"] == 1000 and end["mtu_B"] == 1500
        assert end["interrupt_delay_ns"] == 0
    for host in ("a", "b"):
        namespace = lab.namespace(host)
        subprocess.run(("ip", "-n", namespace, "link", "set", "data0", "mtu", "9000"), check=True)
    assert {end["mtu_B"] for end in lab.describe()["long"].values()} == {9000}


def test_its_output_file_stays_bounded(lab, monkeypatch):
    monkeypatch.setattr("netlab.lab.emulator.ANSWERS_KEPT_B", 10_000)
    (answers,) = lab.state.glob("emulator-long.answers")
    sizes_B = set()
    for _ in range(20):
        assert lab.emulator("long").report(samples=True)["samples"]["t_ns"]
        sizes_B.add(answers.stat().st_size)
    assert min(sizes_B) > 0 and max(sizes_B) < 10_000 + 2 * min(sizes_B) + 10_000


def test_a_path_without_an_emulator_has_no_report(lab):
    with pytest.raises(BadInput, match="long"):
        lab.emulator("short")
    assert lab.fits(STUDY)
    paths = lab.status()["paths"]
    assert {name: path["emulated_with"] for name, path in paths.items()} == {
        "long": "netlab",
        "short": None,
    }


def test_the_emulator_outlives_its_maker_and_ends_with_the_lab():
    study = lab_study(
        paths={
            "a-b": {
                "ends": [{"host": "a"}, {"host": "b"}],
                "link": {"emulator": {"with": "netlab", "rtt_ms": 2.0, "loss": 0.001, "seed": 3}},
            }
        }
    )
    lab = Lab.up(study)
    try:
        (pid,) = reaper.processes_in([lab.namespace("a")])
        assert Lab(lab.state).emulator("a-b").report(samples=True)["samples"]["t_ns"]
        assert os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "gensink"
        emulator = lab.emulator("a-b")
    finally:
        lab.down()
    wait_gone(pid)
    with pytest.raises(HostError, match="gone"):
        emulator.report()


def test_the_emulator_ends_when_the_owner_of_the_lab_is_killed():
    lab_id = f"emu{os.getpid() % 46656:x}"[:8]
    owner = subprocess.Popen(
        (sys.executable, lab_owner.__file__, lab_id, "emulated"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
    )
    try:
        assert [owner.stdout.readline() for _ in range(2)] == [b"start\n", b"up\n"]
        (pid,) = reaper.processes_in(reaper.namespaces_of(lab_id))
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    wait_gone(pid)
    # its process goes before its namespaces
    deadline = time.monotonic() + 15
    while reaper.namespaces_of(lab_id) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not reaper.namespaces_of(lab_id)
