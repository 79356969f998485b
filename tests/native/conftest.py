"""Fixtures of the native tests: a private network, builds, an agent to talk to."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from native.emulated import Emulated, emulated
from native.spoken_agent import Agent

from netlab import core

ROOT = Path(__file__).parents[2]
CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


@pytest.fixture(scope="module", autouse=True)
def own_network() -> Iterator[None]:
    """A network namespace of its own for root: one agent a namespace, and tests run side by side.

    Without privilege the tests use this machine's loopback.
    """
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/thread-self/ns/net") as before:
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        try:
            with socket.socket() as any_socket:
                fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
            yield
        finally:
            if libc.setns(before.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")


@pytest.fixture(scope="session")
def build() -> Callable[..., Path]:
    """Build a variant of the native tree under build/, or some targets; returns its directory."""
    done: dict[str, Path] = {}

    def make(name: str, *options: str, targets: Sequence[str] = ("all",)) -> Path:
        if name not in done:
            where = ROOT / "build" / f"native-{name}"
            common = ("-DNL_PYTHON=OFF", "-DNL_DEVELOP=ON", f"-DPython_EXECUTABLE={sys.executable}")
            configure = ("cmake", "-S", ROOT / "native", "-B", where, *common, *options)
            where.mkdir(parents=True, exist_ok=True)
            with (where / "lock").open("w") as lock:  # files of tests run side by side
                fcntl.flock(lock, fcntl.LOCK_EX)
                subprocess.run(configure, check=True, capture_output=True, text=True)
                compiled = subprocess.run(
                    ("cmake", "--build", where, "-j", "2", "--target", *targets),
                    capture_output=True,
                    text=True,
                )
            assert compiled.returncode == 0, compiled.stdout[-4000:]
            done[name] = where
        return done[name]

    return make


@pytest.fixture(scope="session")
def sanitized(build: Callable[..., Path]) -> Path:
    """The native tree with the sanitizers of ``NETLAB_SANITIZE``."""
    names = os.environ.get("NETLAB_SANITIZE", "address,undefined")
    return build(names.partition(",")[0], "-DNL_TESTS=ON", f"-DNL_SANITIZE={names}")


@pytest.fixture(scope="session")
def address_build(build: Callable[..., Path]) -> Path:
    """Everything with the sanitizers of addresses and undefined behaviour."""
    return build("address", "-DNL_TESTS=ON", "-DNL_SANITIZE=address,undefined")


@pytest.fixture
def gensink() -> Path:
    """The installed binary."""
    return core.gensink_path()


@pytest.fixture
def path(gensink: Path) -> Iterator[Emulated]:
    """Two hosts and an emulator between them, without devices yet."""
    with emulated(gensink) as path:
        yield path


@pytest.fixture
def start_agent(gensink: Path) -> Iterator[Callable[..., Agent]]:
    """Start agents that are gone after the test; the installed one unless argv is given."""
    started: list[Agent] = []

    def start(*argv: str | Path, **options: object) -> Agent:
        agent = Agent(*(argv or (gensink, "agent")), **options)
        started.append(agent)
        assert agent.receive()["event"] == "ready"
        return agent

    yield start
    for agent in started:
        if not agent.process.stdin.closed:
            agent.close()


@pytest.fixture
def agent(start_agent: Callable[..., Agent]) -> Agent:
    """One agent, ready."""
    return start_agent()
