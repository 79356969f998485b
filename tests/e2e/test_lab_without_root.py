"""A user without root measures on the lab: it is made in a user namespace, and goes with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import lab_owner
import pytest
import unprivileged
import yaml

from netlab.results.store import Store
from tests.e2e import dumps
from tests.e2e.conftest import measured_through, small_study

NETLAB = (sys.executable, "-m", "netlab")
LABS = [Path(place) / f"netlab-labs-{unprivileged.USER}" for place in ("/var/tmp", "/tmp")]
GONE_S = 15.0


def _assert_nothing_left() -> None:
    deadline = time.monotonic() + GONE_S
    while left := [*unprivileged.processes(), *(str(labs) for labs in LABS if labs.exists())]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


@pytest.fixture
def home() -> Iterator[Path]:
    """Home of the user, with the small study; afterwards nothing is left of a lab of his."""
    before, names = dumps.dump(), dumps.made()
    with unprivileged.home() as directory:
        (directory / "small.yml").write_text(yaml.safe_dump(small_study("small"), sort_keys=False))
        yield directory
        _assert_nothing_left()
    assert dumps.difference(before, dumps.dump()) == {}
    assert dumps.made() <= names


def _measured(home: Path) -> list[dict]:
    """The runs of the study, whose ledger closes."""
    runs = Store(home / "results").runs()
    assert len(runs) == 8
    assert not runs["flags"].str.contains("failed|lost_host|ledger").any(), runs["message"].tolist()
    assert (runs["ledger_error_B"] == 0).all()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["interval_sum_B"] == runs["received_B"]).all()
    return runs.to_dict("records")


def test_a_study_runs_and_records_what_the_kernel_reserves_for_root(home: Path):
    done = unprivileged.run((*NETLAB, "run", "small.yml", "--results", "results"), home)
    measured_through(done)
    for run in _measured(home):
        assert json.loads(run["provenance"])["user_namespace"] is True
        lacking = {(entry["host"], entry["knob"]) for entry in json.loads(run["unsupported"])}
        for host in ("left", "right"):
            assert (host, "interrupt_delay_us") in lacking
        knobs = json.loads(run["knobs"])["left"]
        assert knobs["mtu"] == str(run["mtu_B"])
        assert (run["tuning"] == "openlab-2003-full") == (knobs["net.ipv4.tcp_sack"] == "0")


def test_a_benchmark_compares_with_a_tool_and_sets_the_routes_of_its_path(home: Path):
    cell = ("--streams", "1", "--mtu", "1500", "--offloads", "on", "--mode", "same")
    how = ("--rounds", "1", "--seconds", "1", "--peer", "nuttcp", "--out", "bench")
    done = unprivileged.run((*NETLAB, "bench", *cell, *how), home)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = home.glob("bench/*/bench.json")
    samples = json.loads(file.read_text())["samples"]
    assert {one["contender"]: one["error"] for one in samples} == dict.fromkeys(
        ("gensink", "plain", "nuttcp"), ""
    )


def test_a_lab_stays_until_its_user_takes_it_down_and_is_tuned_and_reverted(home: Path):
    def netlab(*argv: str) -> str:
        done = unprivileged.run((*NETLAB, *argv), home)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def settings() -> str:
        names = ("net.ipv4.tcp_sack", "net.ipv4.tcp_rmem", "net.ipv4.tcp_timestamps")
        link = netlab("lab", "shell", "left", "cat", "/sys/class/net/data0/mtu")
        return netlab("lab", "shell", "left", "/sbin/sysctl", *names) + link

    made = netlab("lab", "up", "small.yml")
    assert "complete, in a user namespace" in made
    assert made in netlab("lab", "status")
    before = settings()
    assert netlab("lab", "shell", "left", "id", "-u") == "0\n"
    measured_through(unprivileged.run((*NETLAB, "run", "small.yml", "--results", "results"), home))
    _measured(home)
    assert settings() == before
    lab_id = made.split()[1].rstrip(":")
    assert netlab("lab", "down") == f"removed: {lab_id}\n"
    assert lab_id not in netlab("lab", "status")


def test_a_notebook_measures_from_a_process_with_threads(home: Path):
    """A process with several threads cannot enter a user namespace itself."""
    program = (
        "import threading, netlab; from pathlib import Path\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "results = netlab.Study('small.yml').run(results=Path('results'))\n"
        "print(len(results.runs))\n"
    )
    done = unprivileged.run((sys.executable, "-c", program), home)
    assert done.returncode == 0, done.stderr
    _measured(home)


@pytest.mark.parametrize("delay_s", [0.1, 0.3])
def test_an_end_in_the_middle_of_up_leaves_nothing(home: Path, delay_s: float):
    argv = unprivileged.command((sys.executable, lab_owner.__file__, "middle"))
    given = unprivileged.environment(home)
    given["PYTHONPATH"] += f":{unprivileged.ROOT / 'tests'}"
    with subprocess.Popen(argv, cwd=home, env=given, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"start\n"
        time.sleep(delay_s)
        process.send_signal(signal.SIGKILL)
    _assert_nothing_left()


def test_a_lab_whose_holders_were_killed_is_incomplete_and_can_be_taken_down(home: Path):
    made = unprivileged.run((*NETLAB, "lab", "up", "small.yml"), home).stdout
    lab_id = made.split()[1].rstrip(":")
    holders = next(labs / lab_id / "holders" for labs in LABS if labs.exists())
    os.kill(int(holders.read_text().split()[0]), signal.SIGKILL)
    time.sleep(0.2)
    assert "NOT complete" in unprivileged.run((*NETLAB, "lab", "status"), home).stdout
    shell = unprivileged.run((*NETLAB, "lab", "shell", "left", "true"), home)
    assert "[E-LAB-030]" in shell.stderr
    down = unprivileged.run((*NETLAB, "lab", "down"), home)
    assert down.stdout == f"removed: {lab_id}\n"


FORBID = 'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"'


@pytest.mark.parametrize(
    "words", [("run", "small.yml", "--results", "r"), ("lab", "up", "small.yml")]
)
def test_forbidden_user_namespaces_are_named_with_the_remedy(home: Path, words: tuple[str, ...]):
    below = ("unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", FORBID, "sh")
    done = unprivileged.run((*below, *NETLAB, *words), home)
    assert done.returncode == 1
    assert "user.max_user_namespaces is 0" in done.stderr
    assert "Run netlab with sudo, or permit it: sudo sysctl" in done.stderr
    assert "[E-LAB-019]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_interrupt_delay_cannot_be_compared(home: Path):
    study = small_study("small")
    study["paths"]["other"] = {
        "ends": study["paths"]["cable"]["ends"],
        "link": {"interrupt_delay_us": 0.0},
    }
    (home / "delays.yml").write_text(yaml.safe_dump(study))
    done = unprivileged.run((*NETLAB, "lab", "up", "delays.yml"), home)
    assert done.returncode == 1
    assert "[E-LAB-032]" in done.stderr


@pytest.fixture
def emulated(home: Path) -> str:
    """A study over a path of netlab's own emulator."""
    study = small_study("small")
    study["paths"]["cable"]["link"] = {"emulator": {"with": "netlab", "rtt_ms": 10.0}}
    study["tunings"] = study["tunings"][:1]
    study["streams"] = [1]
    (home / "emulated.yml").write_text(yaml.safe_dump(study))
    return "emulated.yml"


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs TUN devices")
def test_an_emulated_path_is_measured_where_tun_devices_are_open(home: Path, emulated: str):
    argv = (*NETLAB, "run", emulated, "--results", "results")
    measured_through(unprivileged.run(argv, home, tun="0666"))
    runs = Store(home / "results").runs()
    assert (runs["sent_B"] == runs["received_B"]).all()
    assert (runs["min_rtt_us"] > 9000).all()


@pytest.mark.skipif(not os.path.exists("/dev/net/tun"), reason="needs TUN devices")
def test_closed_tun_devices_are_named(home: Path, emulated: str):
    done = unprivileged.run((*NETLAB, "lab", "up", emulated), home, tun="0600")
    assert done.returncode == 1
    assert "may not open /dev/net/tun" in done.stderr
    assert "[E-LAB-031]" in done.stderr
