"""What the tests of the native core share: a network of their own, builds, an agent to talk to."""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import secrets
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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
    """Build a variant of the native tree under build/; returns its directory."""
    done: dict[str, Path] = {}

    def make(name: str, *options: str) -> Path:
        if name not in done:
            where = ROOT / "build" / f"native-{name}"
            common = ("-DNL_PYTHON=OFF", "-DNL_DEVELOP=ON", f"-DPython_EXECUTABLE={sys.executable}")
            configure = ("cmake", "-S", ROOT / "native", "-B", where, *common, *options)
            subprocess.run(configure, check=True, capture_output=True, text=True)
            compiled = subprocess.run(
                ("cmake", "--build", where, "-j", "2"), capture_output=True, text=True
            )
            assert compiled.returncode == 0, compiled.stdout[-4000:]
            done[name] = where
        return done[name]

    return make


class Agent:
    """A gensink agent and its standard streams."""

    def __init__(self, *argv: str | Path):
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self._rest = b""

    def say(self, line: str) -> None:
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, timeout_s: float = 30) -> dict:
        """The next event."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            ready = select.select([self.process.stdout], [], [], max(left, 0))[0]
            assert ready, f"the agent says nothing for {timeout_s} s"
            some = os.read(self.process.stdout.fileno(), 1 << 20)
            assert some, f"the agent is gone: {self.process.stderr.read().decode()[-3000:]}"
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def hear_results(self, count: int = 2, timeout_s: float = 30) -> dict[tuple[str, int], dict]:
        """The next events by kind and run."""
        events = [self.hear(timeout_s) for _ in range(count)]
        return {(event["event"], event["run"]): event for event in events}

    def ask(self, line: str) -> dict:
        self.say(line)
        return self.hear()

    def sink(self, run: int = 1, **settings: object) -> tuple[int, str]:
        """Start a sink; its port and token."""
        token = str(settings.pop("token", secrets.token_hex(16)))
        base = {
            "run": run, "bind": "127.0.0.1", "streams": 1, "token": token, "record_B": 65536,
            "congestion": "cubic", "window_ms": 200, "interval_ms": 50,
        }  # fmt: skip
        event = self.ask(request("sink", {**base, **settings}))
        assert event["event"] == "listening", event
        return event["port"], token

    def gen(self, port: int, token: str, run: int = 1, **settings: object) -> None:
        """Start a gen; a window of 200 ms unless bytes are given."""
        base = {
            "run": run, "to": "127.0.0.1", "port": port, "streams": 1, "token": token,
            "record_B": 65536, "congestion": "cubic", "tail_ms": 50, "interval_ms": 50,
        }  # fmt: skip
        if "bytes" not in settings:
            base["window_ms"] = 200
        self.say(request("gen", {**base, **settings}))

    def close(self) -> int:
        """End its input; the exit code."""
        self.process.stdin.close()
        try:
            return self.process.wait(10)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()


def request(verb: str, settings: dict[str, object]) -> str:
    """A request line."""
    return " ".join((verb, *(f"{key}={value}" for key, value in settings.items())))


@pytest.fixture
def gensink() -> Path:
    """The installed binary."""
    return core.gensink_path()


@pytest.fixture
def start_agent(gensink: Path) -> Iterator[Callable[..., Agent]]:
    """Start agents that are gone after the test; the installed one unless argv is given."""
    started: list[Agent] = []

    def start(*argv: str | Path) -> Agent:
        agent = Agent(*(argv or (gensink, "agent")))
        started.append(agent)
        assert agent.hear()["event"] == "ready"
        return agent

    yield start
    for agent in started:
        if not agent.process.stdin.closed:
            agent.close()


@pytest.fixture
def agent(start_agent: Callable[..., Agent]) -> Agent:
    """One agent, ready."""
    return start_agent()
