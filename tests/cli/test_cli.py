"""The netlab command: one message for each mistake, and the exit code that says whose it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT / "data" / "studies" / "openlab-2003.yml"


def netlab(*argv: str, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    """Run the command."""
    return subprocess.run(
        (sys.executable, "-m", "netlab", *argv),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def written(tmp_path: Path, change) -> Path:
    """The openlab study with one change, as a file."""
    content = yaml.safe_load(STUDY.read_text())
    change(content)
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(content))
    return path


BAD = {
    "unknown key": (lambda c: c.update(stream=[1]), "stream", "is no key"),
    "negative seconds": (lambda c: c["timing"].update(seconds=-1.0), "timing.seconds", "-1"),
    "NaN": (lambda c: c["timing"].update(seconds=float("nan")), "timing.seconds", "nan"),
    "absurd record": (
        lambda c: c["groups"][0].update(record_length_B=2**60),
        "record_length_B",
        "",
    ),
    "wrong type": (lambda c: c.update(streams="many"), "streams", "many"),
    "interface name": (
        lambda c: c["paths"]["64-64"]["ends"][0].update(interface="a/b"),
        "interface",
        "a/b",
    ),
    "unknown tuning": (
        lambda c: c["tunings"][0].update(profile="openlab-2003-norml"),
        "tunings.none",
        "the nearest: openlab-2003-normal",
    ),
    "unknown congestion control": (
        lambda c: c.update(congestion="cubik"),
        "congestion",
        "the nearest: cubic",
    ),
    "MTU": (lambda c: c["tunings"][0].update(mtus_B=[100]), "mtus_B", "100"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("command", ["run", "check"])
def test_bad_input_is_one_message_with_file_key_and_value_and_exit_code_2(tmp_path, name, command):
    change, key, value = BAD[name]
    done = netlab(command, str(written(tmp_path, change)))
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert "mine.yml" in lines[0]
    assert key in lines[0]
    assert value.lower() in lines[0].lower()


def test_a_study_that_is_not_there_is_named_with_those_that_are():
    done = netlab("run", "openlab-2033")
    assert done.returncode == 2
    assert "openlab-2033" in done.stderr
    assert "openlab-2003" in done.stderr


def test_an_unknown_option_is_bad_input():
    assert netlab("run", str(STUDY), "--fast").returncode == 2


def test_a_timing_that_cannot_be_is_bad_input():
    for option, value in (("--repeats", "0"), ("--seconds", "nan"), ("--seed", "-1")):
        done = netlab("check", str(STUDY), option, value)
        assert done.returncode == 2, (option, value)
        assert "Traceback" not in done.stderr


def test_a_report_without_results_says_what_to_do(tmp_path):
    done = netlab("report", str(STUDY), "--results", str(tmp_path / "none"))
    assert done.returncode == 1
    assert "run it first" in done.stderr


def ssh_study(tmp_path: Path, address: str) -> Path:
    """A study of two hosts reached over SSH, of which one does not exist."""
    content = {
        "netlab": 1,
        "name": "remote",
        "title": "Two hosts",
        "hosts": {
            "here": {"kind": "ssh", "address": address},
            "there": {"kind": "ssh", "address": address},
        },
        "paths": {
            "p": {
                "ends": [
                    {"host": "here", "address": "127.0.0.1", "interface": "lo"},
                    {"host": "there", "address": "127.0.0.2", "interface": "lo"},
                ]
            }
        },
        "groups": [{"name": "g", "path": "p", "sender": "here"}],
        "tunings": [{"name": "openlab-2003-normal", "mtus_B": [1500]}],
        "streams": [1],
    }
    path = tmp_path / "remote.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def test_a_host_that_does_not_resolve_fails_with_its_name(tmp_path):
    path = ssh_study(tmp_path, "no-such-host.invalid")
    done = netlab("run", str(path), "--results", str(tmp_path / "results"))
    assert done.returncode == 1
    assert "no-such-host.invalid" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_finds_an_unreachable_host_and_fails(tmp_path):
    done = netlab("check", str(ssh_study(tmp_path, "no-such-host.invalid")))
    assert done.returncode == 1
    assert "fail" in done.stdout
    assert "no-such-host.invalid" in done.stdout


def test_lab_down_without_a_lab_is_fine():
    done = netlab("lab", "down", "nosuch")
    assert done.returncode == 2
    assert "nosuch" in done.stderr


def test_tune_plan_names_the_tunings_there_are():
    done = netlab("tune", "plan", str(STUDY), "--tuning", "turbo")
    assert done.returncode == 2
    assert "turbo" in done.stderr
    assert "kernel" in done.stderr
