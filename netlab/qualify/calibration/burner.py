"""Foreign load of a calibration: processes that burn CPU in spells, or in single bursts.

Run as ``python -m netlab.qualify.calibration.burner CPU ON_S OFF_S DUTY_PERCENT`` for spells, or
with the CPU alone for bursts: each line of standard input, ``START_NS LENGTH_NS`` of
CLOCK_MONOTONIC, is a burst, answered by its actual start and end. It ends when its standard input
does, so that it never outlives the process that started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

TICK_S = 0.1
"""A burst and the pause after it."""

END_S = 10.0
"""Timeout for a process to end."""


@dataclass(frozen=True)
class CpuLoad:
    """Foreign load on every CPU.

    Parameters
    ----------
    name : str
        In tables.
    on_s, off_s : float
        Length of a spell of load and of the pause after it; no load if `on_s` is 0.
    duty_percent : float
        Share of a CPU that is burned during a spell.
    """

    name: str
    on_s: float = 0.0
    off_s: float = 0.0
    duty_percent: float = 12.0

    @property
    def text(self) -> str:
        """The injected load, for a table."""
        if not self.on_s:
            return "none"
        return f"{self.duty_percent:g} % of each CPU, {self.on_s:g} s on, {self.off_s:g} s off"

    @contextmanager
    def injected(self) -> Iterator[list[int]]:
        """Burn CPU while entered; gives the ids of the processes."""
        cpus = sorted(os.sched_getaffinity(0)) if self.on_s else []
        with ExitStack() as stack:
            yield [stack.enter_context(self._on(cpu)).pid for cpu in cpus]

    @contextmanager
    def _on(self, cpu: int) -> Iterator[subprocess.Popen]:
        numbers = (cpu, self.on_s, self.off_s, self.duty_percent)
        argv = (sys.executable, "-P", "-m", __name__, *map(str, numbers))
        process = subprocess.Popen(argv, stdin=subprocess.PIPE)
        try:
            yield process
        finally:
            process.communicate(timeout=END_S)


class Bursts:
    """Processes that wait, one on each CPU, and burn it for a moment when asked.

    They start before a run, since starting one is a load of its own.
    """

    def __init__(self) -> None:
        self._processes: dict[int, subprocess.Popen] = {}

    @property
    def cpus(self) -> list[int]:
        """The CPUs that there are."""
        return list(self._processes)

    def __enter__(self) -> Bursts:
        argv = (sys.executable, "-P", "-m", __name__)
        for cpu in sorted(os.sched_getaffinity(0)):
            self._processes[cpu] = subprocess.Popen(
                (*argv, str(cpu)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        for cpu in self.cpus:
            self.burn([cpu], time.monotonic_ns(), 0)  # until it has started
        return self

    def __exit__(self, *error: object) -> None:
        for process in self._processes.values():
            process.communicate(timeout=END_S)
        self._processes = {}

    def start(self, cpus: Iterable[int], start_ns: int, length_ns: int) -> None:
        """Ask for a burst on some CPUs."""
        for cpu in cpus:
            stdin = self._processes[cpu].stdin
            assert stdin is not None
            stdin.write(f"{start_ns} {length_ns}\n")
            stdin.flush()

    def ended(self, cpus: Iterable[int]) -> list[tuple[int, int]]:
        """Start and end of the burst of each of these CPUs, ns; waits for them."""
        found = []
        for cpu in cpus:
            stdout = self._processes[cpu].stdout
            assert stdout is not None
            begun, ended = stdout.readline().split()
            found.append((int(begun), int(ended)))
        return found

    def burn(self, cpus: Iterable[int], start_ns: int, length_ns: int) -> list[tuple[int, int]]:
        """A burst on some CPUs, from start to end."""
        cpus = list(cpus)
        self.start(cpus, start_ns, length_ns)
        return self.ended(cpus)


def burn_bursts(cpu: int) -> None:
    """Burn a CPU as the lines of standard input ask."""
    os.sched_setaffinity(0, {cpu})
    for line in sys.stdin:
        start_ns, length_ns = map(int, line.split())
        time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
        begun = now = time.monotonic_ns()
        while now - begun < length_ns:
            now = time.monotonic_ns()
        print(begun, now, flush=True)


def left_in_spell_s(elapsed_s: float, on_s: float, off_s: float) -> float:
    """Seconds left of the spell of load at this time; below 0 those left of the pause.

    The first pause is half as long as the others: a calibration that is shorter than a spell has
    runs with the load and runs without it.
    """
    within_s = (elapsed_s + on_s + off_s / 2) % (on_s + off_s)
    return on_s - within_s if within_s < on_s else within_s - on_s - off_s


def burn(cpu: int, on_s: float, off_s: float, duty_percent: float) -> None:
    """Burn a share of a CPU in bursts of :data:`TICK_S`, in spells, for ever."""
    os.sched_setaffinity(0, {cpu})
    start = time.monotonic()
    while True:
        left_s = left_in_spell_s(time.monotonic() - start, on_s, off_s)
        if left_s <= 0:
            time.sleep(min(TICK_S, -left_s))
            continue
        tick = time.monotonic()
        while time.monotonic() - tick < TICK_S * duty_percent / 100:
            pass
        time.sleep(max(0.0, tick + TICK_S - time.monotonic()))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        burn_bursts(int(sys.argv[1]))
        sys.exit()
    threading.Thread(target=_end_with_input, daemon=True).start()
    burn(int(sys.argv[1]), *map(float, sys.argv[2:5]))
