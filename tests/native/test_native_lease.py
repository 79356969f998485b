"""A host serves one controller at a time: the agent's lock, and a lease whose number only grows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def directory(tmp_path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def lease(directory: Path, number: int, controller: str = "one") -> str:
    return f"lease controller={controller} number={number} directory={directory}"


def name() -> str:
    return f"lease-{os.stat('/proc/thread-self/ns/net').st_ino}"


def test_a_number_that_grows_is_granted_and_recorded(start_agent, directory):
    agent = start_agent()
    assert agent.ask(lease(directory, 7)) == {"event": "lease", "number": 7, "previous": 0}
    assert agent.ask(lease(directory, 7)) == {"event": "lease", "number": 7, "previous": 7}
    assert agent.ask(lease(directory, 9, "two")) == {"event": "lease", "number": 9, "previous": 7}
    (file,) = directory.iterdir()
    assert (file.name, file.stat().st_mode & 0o777) == (name(), 0o600)
    assert file.read_text() == f"9 two {BOOT}\n"


@pytest.mark.parametrize(("number", "controller"), [(6, "one"), (1, "two"), (7, "two")])
def test_an_older_number_is_refused_also_by_a_later_agent(
    start_agent, directory, number, controller
):
    first = start_agent()
    first.ask(lease(directory, 7))
    first.close()
    later = start_agent()
    answer = later.ask(lease(directory, number, controller))
    assert (answer["event"], answer["code"]) == ("error", "in_use")
    assert f"lease {number} of controller {controller} is too old" in answer["message"]
    assert "lease 7 to controller one" in answer["message"]
    assert later.ask(lease(directory, 8, "two"))["previous"] == 7


@pytest.mark.parametrize("boot", ["", f" {'0' * 8}{BOOT[8:]}"])
def test_a_number_of_another_boot_does_not_count(agent, directory, boot):
    (directory / name()).write_text(f"{2**64 - 1} other{boot}\n")
    assert agent.ask(lease(directory, 7))["previous"] == 0
    assert agent.ask(lease(directory, 6, "two"))["code"] == "in_use"


def test_a_second_agent_names_controller_and_lease_until_the_first_dies(
    start_agent, gensink, directory
):
    agent = start_agent()
    agent.ask(lease(directory, 12, "ops@east"))
    second = subprocess.run((gensink, "agent"), input=b"", capture_output=True, timeout=10)
    answer = json.loads(second.stdout)
    assert answer["code"] == "in_use"
    assert answer["message"].endswith(", for controller ops@east, lease 12")
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait(10)
    assert start_agent().ask(lease(directory, 12, "ops@east"))["event"] == "lease"


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("lease controller=a number=1", "directory"),
        ("lease directory=/ number=1", "controller"),
        ("lease directory=/ controller=a", "number"),
        ("lease directory=/ controller=a number=0", "number"),
        ("lease directory=/ controller=a number=-1", "number"),
        ("lease directory=/ controller=a number=1 more=1", "more"),
        ("lease directory=/ controller=a%20b number=1", "controller"),
        (f"lease directory=/ controller={'a' * 65} number=1", "controller"),
    ],
)
def test_a_malformed_lease_is_refused_by_key(agent, line, key):
    answer = agent.ask(line)
    assert (answer["code"], answer["key"]) == ("bad_request", key)


def test_a_directory_that_others_can_write_is_refused(agent, directory):
    directory.chmod(0o777)
    answer = agent.ask(lease(directory, 1))
    assert answer["code"] == "refused" and "others can write it" in answer["message"]
    assert not list(directory.rglob("lease-*"))


@pytest.mark.parametrize("text", ["", "7", "x one\n", "7 one", "0 one\n", f"7 {'n' * 200}\n"])
def test_a_damaged_lease_is_refused_and_left(agent, directory, text):
    file = directory / name()
    file.write_text(text)
    answer = agent.ask(lease(directory, 9))
    assert answer["code"] == "refused" and "NUMBER CONTROLLER" in answer["message"]
    assert file.read_text() == text


def test_a_lease_is_not_a_link(agent, directory, tmp_path_factory):
    target = tmp_path_factory.mktemp("other") / "file"
    target.write_text("1 one\n")
    (directory / name()).symlink_to(target)
    assert agent.ask(lease(directory, 9))["code"] == "refused"
    assert target.read_text() == "1 one\n"
