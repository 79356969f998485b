"""Two hosts and an emulator between them, for tests: namespaces of their own, gone afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from native.spoken_agent import Agent, by_role, request
from waiting import until

ADDRESS = {"a": "198.18.200.1", "b": "198.18.200.2"}
DEVICE = "data0"
OVERHEAD_B = 14
"""Of a frame beside its MTU: a rate counts it, too."""
QUEUE_PACKETS = 10_000
"""Queue of a device: datagrams of a test wait in it while the emulator has no processor."""


def run(*argv: str | Path, timeout: float = 60) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


def links(report: dict) -> list[dict]:
    """Both directions of each link."""
    return [*report["directions"], *report.get("second", [])]


class Emulated:
    """An emulated path between the namespaces `a` and `b`."""

    def __init__(self, gensink: Path, names: dict[str, str], emulator: Agent):
        self.gensink = gensink
        self.names = names
        self.emulator = emulator

    def inside(self, side: str, *argv: str | Path) -> tuple[str | Path, ...]:
        return ("ip", "netns", "exec", self.names[side], *argv)

    def set(self, direction: str, **options: int) -> None:
        event = self.emulator.ask(request("set", {"direction": direction, **options}))
        assert event["event"] == "set", event

    def both(self, **options: int) -> None:
        for direction in ("ab", "ba"):
            self.set(direction, **options)

    def open(self, mtu_B: int = 1500, **options: int) -> None:
        ends = {
            f"{side}_{key}": value
            for side in ("a", "b")
            for key, value in (("netns", f"/run/netns/{self.names[side]}"), ("device", DEVICE))
        }
        event = self.emulator.ask(request("open", {**ends, **options}))
        assert event["event"] == "opened", event
        for side, peer in (("a", "b"), ("b", "a")):
            ip = ("ip", "-n", self.names[side])
            run(*ip, "link", "set", "dev", DEVICE, "addrgenmode", "none")
            run(*ip, "link", "set", "dev", DEVICE, "txqueuelen", str(QUEUE_PACKETS))
            run(*ip, "link", "set", "dev", DEVICE, "mtu", str(mtu_B), "up")
            run(*ip, "address", "add", ADDRESS[side], "peer", ADDRESS[peer], "dev", DEVICE)

    def report(self, **options: int) -> dict:
        event = self.emulator.ask(request("report", options))
        assert event["event"] == "emulation", event
        return event

    def wait_until_empty(self) -> None:
        """Wait until all packets have left; the last retransmission may take a while."""
        until(lambda: not any(link["stored_packets"] for link in links(self.report())))

    def pings_ms(self, count: int, interval_s: float = 0.02) -> tuple[float, float]:
        """Least and mean round-trip time over `count` answers to pings from a to b.

        With a deadline ping waits for the last of them: without, 20 ms after it was sent, no more.
        """
        often = ("-c", str(count), "-i", str(interval_s), "-w", "30")
        argv = ("ping", "-n", "-q", *often, ADDRESS["b"])
        printed = run(*self.inside("a", *argv))
        assert int(re.search(r"(\d+) received", printed)[1]) >= count, printed  # late ones count
        least, mean = re.search(r"= ([\d.]+)/([\d.]+)/", printed).groups()
        return float(least), float(mean)

    def datagrams(self, count: int, size_B: int, pace_us: int = 0) -> list[int]:
        """Send numbered datagrams from a to b; the numbers that arrived, in their order.

        The receiver ends after the emulator has read all of them and let out the last.
        """

        def passed() -> int:
            return self.report()["directions"][0]["in_packets"]

        before = passed()
        script = Path(__file__).with_name("datagrams.py")
        receiver = subprocess.Popen(
            self.inside("b", sys.executable, script, "receive", ADDRESS["b"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with receiver:
            port = receiver.stdout.readline().strip()
            numbers = (str(count), str(size_B), str(pace_us))
            run(*self.inside("a", sys.executable, script, "send", ADDRESS["b"], port, *numbers))
            until(lambda: passed() >= before + count)
            self.wait_until_empty()
            receiver.stdin.close()
            return json.loads(receiver.stdout.read())

    @contextlib.contextmanager
    def agents(self) -> Iterator[tuple[Agent, Agent]]:
        """The gen at a and the sink at b."""
        started: list[Agent] = []
        try:
            for side in ("a", "b"):
                started.append(Agent(*self.inside(side, self.gensink, "agent")))
                assert started[-1].receive()["event"] == "ready"
            yield started[0], started[1]
        finally:
            for agent in started:
                agent.close()
            self._let_close()

    def _let_close(self, at_most_s: float = 2.0) -> None:
        """Wait for what closing still sends.

        A socket whose path is gone lives on for minutes, and its congestion control with it.
        """
        end = time.monotonic() + at_most_s
        listing = ("ss", "-Htan", "state", "connected", "exclude", "time-wait")
        while any(run(*self.inside(side, *listing)).strip() for side in "ab"):
            if time.monotonic() > end:
                return
            time.sleep(0.05)


def transfer(path: Emulated, agents: tuple[Agent, Agent], **settings: object) -> dict[str, dict]:
    """One run from a to b; the results of gen and sink."""
    gen, sink = agents
    common = {
        "run": secrets.randbelow(1 << 32), "congestion": "reno", "force_buffer": 1, **settings,
    }  # fmt: skip
    port, token = sink.sink(
        bind=ADDRESS["b"],
        **by_role("sink", common) | ({"window_ms": 0} if "bytes" in common else {}),
    )
    gen.gen(port, token, to=ADDRESS["b"], **by_role("gen", common))
    return {"gen": gen.receive(60), "sink": sink.receive(60)}


@contextlib.contextmanager
def emulated(gensink: Path, *wrapper: str, binary: Path | None = None) -> Iterator[Emulated]:
    """Make the hosts and start the emulator in the first, without devices yet."""
    tag = f"nlemu{os.getpid()}x{secrets.token_hex(2)}"
    names = {side: f"{tag}-{side}" for side in ("a", "b")}
    emulator = None
    try:
        for name in names.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "dev", "lo", "up")
        inside_a = ("ip", "netns", "exec", names["a"])
        emulator = Agent(*inside_a, *wrapper, binary or gensink, "emulate")
        assert emulator.receive()["event"] == "ready"
        yield Emulated(gensink, names, emulator)
    finally:
        if emulator is not None and not emulator.process.stdin.closed:
            emulator.close()
        for name in names.values():
            subprocess.run(("ip", "netns", "delete", name), capture_output=True)
