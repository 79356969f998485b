"""A host serves one controller at a time also if the two measure as different users."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from spoken_agent import Agent

USERS = (0, 61001, 61002)
NAMESPACE = "/proc/thread-self/ns/net"


@dataclass
class Host:
    """A directory that three users share, and what each asks of an agent of its own."""

    place: Path
    gensink: Path

    @property
    def shared(self) -> Path:
        return self.place / "tmp"

    def of_user(self, user: int) -> Path:
        """Directory of a user's lease that all users can read."""
        return self.shared / f"netlab-leases-{user}"

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
            return agent.ask(self.line(user, number, controller))

    def line(self, user: int, number: int, controller: str = "one") -> str:
        words = f"controller={controller} number={number} shared={self.shared}"
        return f"lease {words} directory={self.place / str(user)}"


@pytest.fixture
def host(gensink) -> Iterator[Host]:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        place.chmod(0o755)
        binary = Path(shutil.copy(gensink, place / "gensink"))
        binary.chmod(0o755)
        made = Host(place, binary)
        made.shared.mkdir()
        made.shared.chmod(0o1777)
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
        serving.process.wait(10)
        with host.agent(second) as agent:
            assert agent.receive()["event"] == "ready"


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


def test_a_number_grows_over_all_users(host):
    assert host.ask(0, 7)["previous"] == 0
    assert host.ask(61001, 8, "two")["previous"] == 7
    late = host.ask(0, 7)
    assert late["code"] == "in_use"
    assert "lease 7 of controller one is too old" in late["message"]
    assert f"lease 8 to controller two, recorded in {host.of_user(61001)}" in late["message"]
    assert host.ask(61002, 8, "three")["code"] == "in_use"  # the same number of another
    assert host.ask(61002, 8, "two")["previous"] == 8
    assert host.ask(0, 9)["previous"] == 8
    assert {path.stat().st_mode & 0o7777 for path in host.shared.iterdir()} == {0o755}


def lease_of(host: Host, user: int, text: str = "9 other\n") -> Path:
    """A lease as a user would write it."""
    file = host.of_user(user) / f"lease-{os.stat(NAMESPACE).st_ino}"
    file.parent.mkdir()
    file.write_text(text)
    for path in (file.parent, file):
        os.chown(path, user, user)
    return file


@pytest.mark.parametrize("forged", ["directory of another", "writable", "link"])
def test_a_directory_that_its_user_does_not_have_alone_does_not_count(host, forged):
    file = lease_of(host, 61002)
    if forged == "directory of another":
        os.chown(file.parent, 61001, 61001)
    elif forged == "writable":
        file.parent.chmod(0o777)
    else:
        real = file.parent.rename(host.shared / "elsewhere")
        file.parent.symlink_to(real)
    assert host.ask(61001, 5)["previous"] == 0


@pytest.mark.parametrize("damage", ["text", "file of another", "writable", "link", "fifo"])
def test_a_damaged_lease_of_another_user_is_refused_by_its_place(host, damage):
    file = lease_of(host, 61002, "nonsense" if damage == "text" else "9 other\n")
    if damage == "file of another":
        os.chown(file, 61001, 61001)
    elif damage == "writable":
        file.chmod(0o666)
    elif damage in ("link", "fifo"):
        file.unlink()
        file.symlink_to(host.gensink) if damage == "link" else os.mkfifo(file)
        os.chown(file, 61002, 61002, follow_symlinks=False)
    answer = host.ask(61001, 10)
    assert answer["code"] == "refused" and str(file) in answer["message"]


def test_a_place_that_another_user_has_taken_is_refused_and_left(host):
    trap = host.place / "trap"
    trap.mkdir()
    host.of_user(61001).symlink_to(trap)
    answer = host.ask(61001, 5)
    assert answer["code"] == "refused" and str(host.of_user(61001)) in answer["message"]
    assert not list(trap.iterdir())
    host.of_user(61001).unlink()
    host.of_user(61001).mkdir()
    os.chown(host.of_user(61001), 61002, 61002)
    assert "belongs to another user" in host.ask(61001, 5)["message"]


@pytest.mark.parametrize(("owner", "mode"), [(61002, 0o755), (0, 0o777)])
def test_a_shared_directory_in_which_others_can_rename_is_refused(host, owner, mode):
    os.chown(host.shared, owner, owner)
    host.shared.chmod(mode)
    answer = host.ask(61001, 5)
    assert answer["code"] == "refused" and "no sticky bit" in answer["message"]
