"""The emulator process of a lab path: start, configure, report.

It runs in the network namespace of the path's first end, so the removal of the lab ends it. It
reads requests from a named pipe and appends answers to a file, both in the state directory of the
lab. It holds the pipe open itself, so that it outlives the process that started it.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from netlab import core
from netlab.errors import HostError, Unsupported
from netlab.lab.namespaces import inside, tool
from netlab.study import Emulator

TUN = "/dev/net/tun"
ANSWER_S = 10.0
LOOK_S = 0.005
# Arguments: the binary, its requests, its answers.
START = 'exec setsid -f "$1" emulate <>"$2" >>"$3" 2>&1'
ANSWERS_KEPT_B = 1 << 20
Places = tuple[tuple[str, str], tuple[str, str]]
"""Namespace and device of both ends of a path."""


@dataclass(frozen=True)
class EmulatorSettings:
    """Settings of an emulator in its own units; pairs are forward and reverse."""

    delay_us: tuple[int, int]
    rate_bps: int
    queue_B: int
    queue_packets: int
    loss_ppb: int
    jitter_us: int
    reorder_ppb: int
    reorder_us: int
    seed: int

    @classmethod
    def of(cls, emulator: Emulator) -> EmulatorSettings:
        """Settings for an emulator of the study."""
        there_ms, back_ms = emulator.each_way_ms
        return cls(
            delay_us=(round(there_ms * 1000), round(back_ms * 1000)),
            rate_bps=round((emulator.rate_Mbps or 0) * 1e6),
            queue_B=emulator.queue_B or 0,
            queue_packets=emulator.queue_packets or 0,
            loss_ppb=round(emulator.loss * 1e9),
            jitter_us=round(emulator.jitter_ms * 1000),
            reorder_ppb=round(emulator.reorder * 1e9),
            reorder_us=round(emulator.reorder_ms * 1000),
            seed=emulator.seed,
        )

    @classmethod
    def from_dict(cls, content: dict | None) -> Self | None:
        """The settings that :func:`dataclasses.asdict` made; None stays None."""
        if content is None:
            return None
        return cls(**{**content, "delay_us": tuple(content["delay_us"])})

    def requests(self) -> list[str]:
        """The lines that set both directions."""
        lines = []
        for index, direction in enumerate(("ab", "ba")):
            words = {
                "rate_bps": self.rate_bps,
                "queue_B": self.queue_B,
                "queue_packets": self.queue_packets,
                "delay_us": self.delay_us[index],
                "loss_ppb": self.loss_ppb,
                "jitter_us": self.jitter_us,
                "reorder_ppb": self.reorder_ppb,
                "reorder_us": self.reorder_us,
                # an independent random sequence for each direction
                "seed": 2 * self.seed + index,
            }
            given = " ".join(f"{key}={value}" for key, value in words.items())
            lines.append(f"set direction={direction} {given}")
        return lines


def open_request(places: Places) -> str:
    """Return the line that opens a path between two devices."""
    words = " ".join(
        f"{side}_netns=/run/netns/{namespace} {side}_device={device}"
        for side, (namespace, device) in zip("ab", places, strict=True)
    )
    return f"open {words}"


class LabEmulator:
    """The emulator of one path of a lab that is up."""

    def __init__(self, state: Path, path: str):
        self.path = path
        self._requests = state / f"emulator-{path}.requests"
        self._answers = state / f"emulator-{path}.answers"

    def report(self, *, samples: bool = False, restart_ms: int | None = None) -> dict:
        """Return the emulator's ``emulation`` event, see ``native/PROTOCOL.md``."""
        restart = "" if restart_ms is None else f" restart_ms={restart_ms}"
        return self._ask(f"report samples={int(samples)}{restart}", "emulation")

    def force_loss(self, direction: str, after_s: float) -> None:
        """Schedule one packet to be dropped some time after data begin to flow.

        Each direction has at most one such drop pending.
        """
        self._ask(f"set direction={direction} drop_at_ms={round(after_s * 1e3)}", "set")

    def forget_losses(self, direction: str) -> None:
        """Cancel the scheduled drops that have not happened yet."""
        self._ask(f"set direction={direction} drop_at=0", "set")

    def _ask(self, line: str, event: str) -> dict:
        try:
            requests = os.open(self._requests, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as problem:
            raise self._error(
                f"the emulator is gone: {problem.strerror}", code="E-LAB-001"
            ) from problem
        try:
            # one request at a time: answers do not name their request
            fcntl.flock(requests, fcntl.LOCK_EX)
            said = self._answers.stat().st_size
            if said > ANSWERS_KEPT_B:
                # the emulator opened it for appending and continues at the new end
                os.truncate(self._answers, 0)
                said = 0
            os.write(requests, line.encode() + b"\n")
            return self._wait_for(event, said)
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
                    answer = json.loads(line)
                except ValueError:
                    raise self._error(
                        f"the emulator sent {line[:200]!r}, not JSON", code="E-LAB-002"
                    ) from None
                if answer["event"] == "error":
                    raise self._error(answer["message"], code="E-LAB-003")
                if answer["event"] == event:
                    return answer
            time.sleep(LOOK_S)
        raise self._error(f"the emulator sent no {event} within {ANSWER_S:g} s", code="E-LAB-004")

    def _error(self, message: str, *, code: str) -> HostError:
        return HostError("lab", f"path {self.path}: {message}", code=code)


def check() -> None:
    """Check that this machine has what an emulator needs."""
    if not os.path.exists(TUN):
        raise Unsupported(
            f"an emulated path needs TUN devices; {TUN} does not exist", code="E-LAB-005"
        )
    if not os.access(TUN, os.R_OK | os.W_OK):
        raise Unsupported(
            f"an emulated path needs TUN devices, and this user may not open {TUN}: run netlab "
            f"with sudo, or permit it: sudo chmod 666 {TUN}",
            code="E-LAB-031",
        )


def start(
    state: Path,
    path: str,
    places: Places,
    settings: EmulatorSettings,
) -> LabEmulator:
    """Start the emulator of a path, which creates its devices, down and without addresses."""
    emulator = LabEmulator(state, path)
    os.mkfifo(emulator._requests, 0o600)
    files = (str(core.gensink_path()), str(emulator._requests), str(emulator._answers))
    tool(inside(places[0][0], ("sh", "-c", START, "start", *files)))
    emulator._wait_for("ready")
    for line in settings.requests():
        emulator._ask(line, "set")
    emulator._ask(open_request(places), "opened")
    return emulator
