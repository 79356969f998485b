"""A host serves one agent at a time, of whichever user; leases of other users do not matter."""

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
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def name() -> str:
    """A lease of the tests' network namespace."""
    return f"lease-{os.stat('/proc/thread-self/ns/net').st_ino}"


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
            return agent.ask(self.line(user, number, controller))

    def line(self, user: int, number: int, controller: str = "one") -> str:
        words = f"controller={controller} number={number}"
        return f"lease {words} directory={self.place / str(user)}"


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


def test_a_number_grows_for_each_user(host):
    assert host.ask(0, 7)["previous"] == 0
    assert host.ask(61001, 5, "two")["previous"] == 0
    late = host.ask(0, 6)
    assert late["code"] == "in_use"
    assert "lease 6 of controller one is too old" in late["message"]
    assert host.ask(61001, 6, "two")["previous"] == 5


@pytest.mark.parametrize("text", ["x", f"{2**64 - 1} hostile\n", f"{2**64 - 1} hostile {BOOT}\n"])
@pytest.mark.parametrize("user", [0, 61001])
def test_a_file_that_another_user_wrote_does_not_count(host, user, text):
    """A file of a stranger, also where leases were once kept, blocks no host."""
    places = [Path(top) / "netlab-leases-61002" for top in ("/var/tmp", "/tmp")]
    try:
        for place in places:
            place.mkdir()
            (place / name()).write_text(text)
            for path in (place, place / name()):
                os.chown(path, 61002, 61002)
        assert host.ask(user, 5) == {"event": "lease", "number": 5, "previous": 0}
        assert host.ask(user, 6)["previous"] == 5
    finally:
        for place in places:
            shutil.rmtree(place, ignore_errors=True)


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
