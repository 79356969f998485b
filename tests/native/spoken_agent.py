"""A gensink that is driven over its standard streams, as the controller drives it."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import subprocess
import time
from pathlib import Path

from waiting import until

from netlab import core

EMPTY: dict[str, object] = {}


def by_role(role: str, options: dict[str, object]) -> dict[str, object]:
    """The options that a sink or a gen has."""
    known = core.options()
    return {name: value for name, value in options.items() if role in known[name].roles}


def wait_for_data(more_B: int = 1_000_000) -> None:
    """Wait until the loopback of this network has carried so much more: a run is under way."""

    def carried_B() -> int:
        devices = Path("/proc/thread-self/net/dev").read_text()
        return int(devices.partition(" lo:")[2].split()[0])

    before_B = carried_B()
    until(lambda: carried_B() > before_B + more_B)


class Agent:
    """A gensink agent and its standard streams."""

    def __init__(self, *argv: str | Path, **options: object):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        self.process = subprocess.Popen(argv, **pipes, **options)
        self._rest = b""

    def say(self, line: str) -> None:
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def receive(self, timeout_s: float = 30) -> dict:
        """The next event; TimeoutError or EOFError without one."""
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._rest:
            left = deadline - time.monotonic()
            ready = select.select([self.process.stdout], [], [], max(left, 0))[0]
            if not ready:
                raise TimeoutError(f"the agent says nothing for {timeout_s} s\n{self._waits()}")
            some = os.read(self.process.stdout.fileno(), 1 << 20)
            if not some:
                raise EOFError(f"the agent is gone: {self.process.stderr.read().decode()[-3000:]}")
            self._rest += some
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _waits(self) -> str:
        """CPU time of each thread, and where in the kernel it is."""
        parts = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(OSError):
                user, system = (task / "stat").read_text().rpartition(")")[2].split()[11:13]
                stack = (task / "stack").read_text() if os.geteuid() == 0 else ""
                parts.append(f"thread {task.name}: {user} + {system} ticks\n{stack}")
        return "".join(parts)

    def receive_results(self, count: int = 2, timeout_s: float = 30) -> dict[tuple[str, int], dict]:
        """The next events by kind and run."""
        events = [self.receive(timeout_s) for _ in range(count)]
        return {(event["event"], event["run"]): event for event in events}

    def ask(self, line: str) -> dict:
        self.say(line)
        return self.receive()

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
            "record_B": 65536, "congestion": "cubic", "interval_ms": 50,
        }  # fmt: skip
        if "bytes" not in settings:
            base["window_ms"] = 200
        self.say(request("gen", {**base, **settings}))

    def transfer(
        self, timeout_s: float = 30, sink: dict = EMPTY, gen: dict = EMPTY, **both: object
    ) -> tuple[dict, dict]:
        """Run a gen against a sink, each with those options that its role has; both results."""
        sink, gen = by_role("sink", both) | sink, by_role("gen", both) | gen
        if "bytes" in gen:
            sink["window_ms"] = 0
        port, token = self.sink(**sink)
        self.gen(port, token, **gen)
        results = self.receive_results(timeout_s=timeout_s)
        run = both.get("run", 1)
        return results["sink_result", run], results["gen_result", run]

    def close(self) -> int:
        """End its input; the exit code."""
        self.process.stdin.close()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.process.stderr.close()


def request(verb: str, settings: dict[str, object]) -> str:
    """A request line."""
    return " ".join((verb, *(f"{key}={value}" for key, value in settings.items())))
