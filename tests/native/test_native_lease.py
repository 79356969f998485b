"""A host serves one controller at a time: the agent's lock, and a lease whose number only grows.

One agent serves at a time, of whichever user; leases of other users do not matter."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from native.spoken_agent import Agent
from waiting import until

USERS = (0, 61001, 61002)
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@pytest.fixture
def directory(tmp_path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path


def lease(directory: Path, number: int, controller: str = "one") -> str:
    return f"lease controller={controller} number={number} directory={directory}"


def name() -> str:
    """A lease of the tests' network namespace."""
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
    second = subprocess.run((gensink, "agent"), input=b"", capture_output=True, timeout=30)
    answer = json.loads(second.stdout)
    assert answer["code"] == "in_use"
    assert answer["message"].endswith(", for controller ops@east, lease 12")
    agent.process.send_signal(signal.SIGKILL)
    agent.process.wait(30)
    assert start_agent().ask(lease(directory, 12, "ops@east"))["event"] == "lease"


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


@dataclass
class Host:
    """A directory for each of three users, and what each asks of an agent of its own."""

    place: Path
    gensink: Path

    @contextlib.contextmanager
    def agent(self, user: int) -> Iterator[Agent]:
        found = Agent(self.gensink, "agent", user=user, group=user, extra_groups=[])
        try:
            yield found
        finally:
            found.close()

    def ask(self, user: int, number: int, controller: str = "one") -> dict:
        """The answer to a lease of a new agent of a user."""
        with self.agent(user) as agent:
            assert agent.receive()["event"] == "ready"
            return agent.ask(lease(self.place / str(user), number, controller))


@pytest.fixture
def host(gensink) -> Iterator[Host]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        binary = Path(shutil.copy(gensink, place / "gensink"))
        binary.chmod(0o755)
        made = Host(place, binary)
        for user in USERS:
            (place / str(user)).mkdir(mode=0o700)
            os.chown(place / str(user), user, user)
        yield made


@pytest.mark.parametrize(("first", "second"), [(0, 61001), (61001, 0), (61001, 61002)])
def test_an_agent_of_another_user_is_refused_by_process_and_user(host, first, second):
    with host.agent(first) as serving:
        assert serving.receive()["event"] == "ready"
        with host.agent(second) as refused:
            answer = refused.receive()
        assert answer["code"] == "in_use"
        user = "root" if first == 0 else str(first)
        assert answer["message"] == (
            "another agent serves this network namespace: "
            f"process {serving.process.pid} of user {user}"
        )
        serving.process.kill()
        serving.process.wait(30)
        with host.agent(second) as agent:
            assert agent.receive()["event"] == "ready"


@pytest.mark.parametrize("second", [61001, 61002])
def test_an_agent_that_is_stopped_says_what_lets_it_end(host, second):
    """It has the lock until then; the controller that started it may be gone."""
    with host.agent(61001) as serving:
        assert serving.receive()["event"] == "ready"
        pid = serving.process.pid
        os.kill(pid, signal.SIGSTOP)
        state = Path(f"/proc/{pid}/stat")
        until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
        with host.agent(second) as refused:
            assert f"is stopped (`kill -CONT {pid}` lets it end)" in refused.receive()["message"]
        os.kill(pid, signal.SIGCONT)
        with host.agent(second) as refused:
            answer = refused.receive()
        assert answer["code"] == "in_use" and "stopped" not in answer["message"]


def test_an_agent_in_a_container_with_a_run_of_its_own_is_refused(start_agent, gensink):
    """The locks of files lie in `/run`, which a container that shares the network does not."""
    serving = start_agent()
    mount = "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /tmp"
    argv = ("unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", gensink, "agent")
    there = subprocess.run(argv, input=b"", capture_output=True, timeout=30)
    answer = json.loads(there.stdout)
    assert answer["code"] == "in_use"
    assert f"process {serving.process.pid} of user root" in answer["message"]


def test_of_many_agents_of_three_users_one_at_a_time_serves(host):
    at_once, most, served = [0], [0], []
    counting = threading.Lock()

    def attempts(user: int) -> None:
        for _ in range(20):
            with host.agent(user) as agent:
                if agent.receive()["event"] != "ready":
                    continue
                with counting:
                    at_once[0] += 1
                    most[0] = max(most[0], at_once[0])
                    served.append(user)
                agent.ask("ping")
                with counting:
                    at_once[0] -= 1

    threads = [threading.Thread(target=attempts, args=(user,)) for user in USERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] and len(served) >= len(USERS)


def test_a_name_that_a_stranger_has_taken_is_refused_by_process_and_user(host):
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind("\0netlab-agent")
        with host.agent(61001) as agent:  # bound, and nobody listens
            assert agent.receive()["message"] == "another agent serves this network namespace"
        stranger.listen(0)
        with host.agent(61001) as agent:
            assert f"process {os.getpid()} of user root" in agent.receive()["message"]
        with host.agent(61001) as agent:  # its queue is full
            assert agent.receive()["code"] == "in_use"
    assert host.ask(61001, 5)["event"] == "lease"


def test_a_number_grows_for_each_user(host):
    assert host.ask(0, 7)["previous"] == 0
    assert host.ask(61001, 5, "two")["previous"] == 0
    late = host.ask(0, 6)
    assert late["code"] == "in_use"
    assert "lease 6 of controller one is too old" in late["message"]
    assert host.ask(61001, 6, "two")["previous"] == 5


@pytest.mark.parametrize("damage", ["of another", "writable", "fifo"])
def test_a_lease_that_its_user_does_not_have_alone_is_refused_by_its_place(host, damage):
    file = host.place / "61001" / name()
    if damage == "fifo":
        os.mkfifo(file)
    else:
        file.write_text(f"9 other {BOOT}\n")
    os.chown(file, *(2 * [61002 if damage == "of another" else 61001]))
    file.chmod(0o666 if damage == "writable" else 0o644)
    answer = host.ask(61001, 10)
    assert answer["code"] == "refused" and str(file) in answer["message"]
