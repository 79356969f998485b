"""The emulator process of a lab path: start, configure, report.

It runs in the network namespace of the path's first end, so the removal of the lab ends it. It
reads requests from a named pipe and appends answers to a file, both in the state directory of the
lab. It holds the pipe open itself, so that it outlives the process that started it.
"""

from __future__ import annotations

import fcntl
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

from netlab import core
from netlab.errors import HostError, Unsupported
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json
from netlab.files.writing import write_text
from netlab.lab.namespaces import inside, tool
from netlab.study import Emulator
from netlab.study.links import DISCIPLINE_MS
from netlab.units import GIB

TUN = "/dev/net/tun"
ANSWER_S = 10.0
LOOK_S = 0.005
# Arguments: the binary, its requests, its answers.
START = 'exec setsid -f "$1" emulate <>"$2" >>"$3" 2>&1'
ANSWERS_KEPT_B = 1 << 20
Places = tuple[tuple[str, str], tuple[str, str]]
"""Namespace and device of both ends of a path."""


SEEDS_OF_LINK = 2**60
"""Between the seeds of two links in a row."""

MANAGED_PACKETS = 10_240
"""Limit of a queue with a discipline where the study states none, as RFC 8290 has it."""
CAKE_INTERVALS, CAKE_LEAST_B = 4, 4 << 20
"""The same of CAKE, as sch_cake has it: so many intervals of the rate, and no less than so much."""


@dataclass(frozen=True)
class WaySettings:
    """Settings of one direction of an emulator in its own units."""

    delay_us: int
    rate_bps: int
    queue_B: int
    queue_packets: int
    mark_above_B: int
    loss_ppb: int
    jitter_us: int
    reorder_ppb: int
    reorder_us: int
    seed: int
    discipline: str = "none"
    target_us: int = 0
    interval_us: int = 0
    ecn: int = 0
    burst_B: int = 0
    policer: int = 0
    enter_bad_ppb: int = 0
    leave_bad_ppb: int = 0
    bad_loss_ppb: int = 0
    flow_delay_max_us: int = 0

    @classmethod
    def of(
        cls, way: Emulator, delay_ms: float, seed: int, flow_rtt_ms: float | None = None
    ) -> Self:
        begins, ends = way.burst_chances
        managed = way.queue_discipline != "fifo"
        target_ms, interval_ms = DISCIPLINE_MS.get(way.queue_discipline, (0.0, 0.0))
        bounded = way.queue_B or way.queue_packets or not managed
        rate_bps = round((way.rate_Mbps or 0) * 1e6)
        interval_us = round((way.interval_ms or interval_ms) * 1000)
        queue_B = way.queue_B or 0
        if not bounded and way.queue_discipline == "cake":
            of_time_B = CAKE_INTERVALS * rate_bps * interval_us // 8_000_000
            queue_B = min(max(of_time_B, CAKE_LEAST_B), GIB)
        return cls(
            delay_us=round(delay_ms * 1000),
            rate_bps=rate_bps,
            queue_B=queue_B,
            queue_packets=way.queue_packets or (0 if bounded else MANAGED_PACKETS),
            mark_above_B=way.mark_above_B or 0,
            # between bursts nothing is lost
            loss_ppb=0 if ends else round(way.loss * 1e9),
            jitter_us=round(way.jitter_ms * 1000),
            reorder_ppb=round(way.reorder * 1e9),
            reorder_us=round(way.reorder_ms * 1000),
            seed=seed,
            discipline=way.queue_discipline if managed else "none",
            target_us=round((way.target_ms or target_ms) * 1000),
            interval_us=interval_us,
            ecn=int(way.marks),
            burst_B=way.burst_B or 0,
            policer=int(way.policer),
            enter_bad_ppb=round(begins * 1e9),
            leave_bad_ppb=round(ends * 1e9),
            bad_loss_ppb=round(way.loss_in_burst * 1e9) if ends else 0,
            # a direction may have all of a round trip
            flow_delay_max_us=0 if flow_rtt_ms is None else max(1, round(flow_rtt_ms * 1000)),
        )


@dataclass(frozen=True)
class EmulatorSettings:
    """Settings of an emulator: from the first end of its path to the second, and back."""

    ways: tuple[WaySettings, WaySettings]
    traces: tuple[str, str] = ("", "")
    """Lines of the trace of each direction; empty without one."""
    second: tuple[WaySettings, WaySettings] | None = None
    """The same of a second link; None of a path of one."""

    @classmethod
    def of(cls, emulator: Emulator, flow_rtt_ms: float | None = None) -> Self:
        """Settings for a path whose flows have round trips of up to so much of their own."""
        links = []
        for hop, link in enumerate(emulator.links):
            # an independent random sequence for each link and direction
            seed = 2 * emulator.seed + hop * SEEDS_OF_LINK
            there, back = (
                WaySettings.of(way, delay_ms, seed + index, flow_rtt_ms)
                for index, (way, delay_ms) in enumerate(
                    zip(link.ways, link.each_way_ms, strict=True)
                )
            )
            links.append((there, back))
        first, second = (
            "".join(f"{ms}\n" for ms in way.trace.lines) if way.trace else ""
            for way in emulator.ways
        )
        return cls(links[0], (first, second), *links[1:])

    def requests(self) -> list[str]:
        lines = []
        for hop, ways in (("", self.ways), (" hop=2", self.second or ())):
            for direction, way in zip(("ab", "ba"), ways, strict=False):
                words = " ".join(f"{key}={value}" for key, value in asdict(way).items())
                lines.append(f"set direction={direction}{hop} {words}")
        return lines


def open_request(places: Places) -> str:
    words = " ".join(
        f"{side}_netns=/run/netns/{namespace} {side}_device={device}"
        for side, (namespace, device) in zip("ab", places, strict=True)
    )
    return f"open {words}"


class LabEmulator:
    def __init__(self, state: Path, path: str):
        self.path = path
        self._requests = state / f"emulator-{path}.requests"
        self._answers = state / f"emulator-{path}.answers"

    def report(self, *, samples: bool = False, restart_ms: int | None = None) -> dict:
        restart = "" if restart_ms is None else f" restart_ms={restart_ms}"
        return self._ask(f"report samples={int(samples)}{restart}", "emulation")

    def force_loss(self, direction: str, after_s: float) -> None:
        """Schedule the drop of one packet some time after data flow, at most one a direction."""
        self._ask(f"set direction={direction} drop_at_ms={round(after_s * 1e3)}", "set")

    def delay_flows(self, direction: str, flows: str) -> None:
        """Delay flows by their source ports in place of the direction's delay; ``-``: none."""
        self._ask(f"set direction={direction} flows={flows}", "set")

    def lead_flows(self, first: str, second: str) -> None:
        """Lead flows of these source ports over one of two links alone; ``-``: none."""
        self._ask(f"span first={first} second={second}", "set")

    def forget_losses(self, direction: str) -> None:
        self._ask(f"set direction={direction} drop_at=0", "set")

    def _ask(self, line: str, event: str) -> dict:
        try:
            requests = os.open(self._requests, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            message = f"the emulator is gone: {problem.strerror}"
            raise self._error(message, code="E-LAB-001") from problem
        try:
            # one request at a time: answers do not name their request
            fcntl.flock(requests, fcntl.LOCK_EX)
            answered = self._answers.stat().st_size
            if answered > ANSWERS_KEPT_B:
                # the emulator opened it for appending and continues at the new end
                os.truncate(self._answers, 0)
                answered = 0
            os.write(requests, line.encode() + b"\n")
            return self._wait_for(event, answered)
        finally:
            os.close(requests)

    def _wait_for(self, event: str, said: int = 0) -> dict:
        """Return the first answer of that kind after `said` bytes of the file."""
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            with open(self._answers, "rb") as answers:
                answers.seek(said)
                lines = answers.read().split(b"\n")[:-1]
            for line in lines:
                try:
                    answer = checked(parse_json(line))
                except ValueError as fault:
                    message = f"the emulator sent {line[:200]!r}: {fault}"
                    raise self._error(message, code="E-LAB-002") from None
                if answer["event"] == "error":
                    raise self._error(str(answer.get("message")), code="E-LAB-003")
                if answer["event"] == event:
                    return answer
            time.sleep(LOOK_S)
        raise self._error(f"the emulator sent no {event} within {ANSWER_S:g} s", code="E-LAB-004")

    def _error(self, message: str, *, code: str) -> HostError:
        return HostError("lab", f"path {self.path}: {message}", code=code)


def check() -> None:
    if not os.path.exists(TUN):
        message = f"an emulated path needs TUN devices; {TUN} does not exist"
        raise Unsupported(message, code="E-LAB-005")
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise Unsupported(
            f"an emulated path needs TUN devices, and this user may not open {TUN}: run netlab "
            f"with sudo, or permit it: sudo chmod 666 {TUN}",
            code="E-LAB-031",
        )


def start(state: Path, path: str, places: Places, settings: EmulatorSettings) -> None:
    emulator = LabEmulator(state, path)
    os.mkfifo(emulator._requests, 0o600)
    files = (str(core.gensink_path()), str(emulator._requests), str(emulator._answers))
    tool(inside(places[0][0], ("sh", "-c", START, "start", *files)))
    emulator._wait_for("ready")
    for line in settings.requests():
        emulator._ask(line, "set")
    for direction, lines in zip(("ab", "ba"), settings.traces, strict=True):
        if lines:
            file = write_text(state / f"emulator-{path}.{direction}.trace", lines)
            emulator._ask(f"set direction={direction} trace={quote(str(file))}", "set")
    emulator._ask(open_request(places), "opened")
