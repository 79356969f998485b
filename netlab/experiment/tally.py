"""State of a campaign and its report: counts, and the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from netlab.experiment.watcher import RunDone

PRIOR_S = 20.0
"""Work at the expected pace that the measured pace is averaged with: the first runs are slower."""


LEAST_SMOOTHING_S = 2.0


SMOOTHING_SHARE = 0.2
"""Time constant of the estimate that is shown, as a share of the time left."""


MEASURING, PUBLISHING, DONE, STOPPED = "Measuring", "Publishing", "Done", "Stopped"


class Estimate:
    """Time left, from the expected work and the pace of the work done so far.

    The estimate shown runs down with the clock and follows a new one gradually, so that it does
    not jump from one run to the next. Work that is added to the total counts at once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._begun = self._last = clock()
        self._shown: float | None = None
        self._total_s = 0.0

    @property
    def elapsed_s(self) -> float:
        return self._clock() - self._begun

    def left_s(self, done_s: float, total_s: float) -> float:
        """Time left when `done_s` of `total_s` seconds of expected work are done."""
        now = self._clock()
        pace = (now - self._begun + PRIOR_S) / (done_s + PRIOR_S)
        wanted = max(0.0, total_s - done_s) * pace
        if self._shown is None or wanted == 0:
            self._shown = wanted
        else:
            passed = now - self._last
            smoothing_s = max(LEAST_SMOOTHING_S, SMOOTHING_SHARE * wanted)
            added_s = (total_s - self._total_s) * pace
            run_down = max(0.0, self._shown - passed + added_s)
            self._shown = run_down + (wanted - run_down) * -math.expm1(-passed / smoothing_s)
        self._last, self._total_s = now, total_s
        return self._shown


@dataclass
class Tally:
    """Counts of a campaign so far."""

    stage: str = MEASURING
    runs: int = 0
    done: int = 0
    until: str = ""
    place: str = ""
    measured: list[RunDone] = field(default_factory=list)
    precision: str = ""
    work_s: float = 0.0
    done_s: float = 0.0
    left_s: float = 0.0
    elapsed_s: float = 0.0

    @property
    def percent(self) -> int:
        """Share of the expected work that is done; 100 at the end alone."""
        if self.stage == DONE:
            return 100
        return min(99, int(100 * self.done_s / self.work_s)) if self.work_s else 0

    @property
    def lines(self) -> tuple[str, ...]:
        """The state in sentences: progress, and what was measured so far."""
        head = f"{self.stage}: {self.place}" if self.place else self.stage
        parts = [f"{self.done:,} of {self.runs:,} runs" if self.runs else "", f"{self.percent} %"]
        if self.stage in (MEASURING, PUBLISHING):
            to = f" to {self.until}" if self.until else ""
            parts.append(f"{duration(self.left_s)} left{to}")
        else:
            parts.append(duration(self.elapsed_s))
        first = ", ".join([head, *filter(None, parts)])
        return tuple(filter(None, (first, self._figures())))

    def _figures(self) -> str:
        if not self.measured:
            return self.precision
        last = self.measured[-1]
        goodput = "no goodput" if last.goodput_MBps is None else f"{_rate(last.goodput_MBps)}"
        cpu = "" if last.cpu_percent is None else f", busiest core {last.cpu_percent:.0f} %"
        text = f"last run {goodput}{cpu}; {self._flags()}"
        return f"{text}; {self.precision}" if self.precision else text

    def _flags(self) -> str:
        flagged = sum(bool(run.flags) for run in self.measured)
        return f"{flagged:,} of {len(self.measured):,} flagged" if flagged else "no flag so far"


def _rate(goodput_MBps: float) -> str:
    """Goodput in whole MB/s; of a slow path in kB/s, where it would read 0."""
    slow = 0 < goodput_MBps < 1
    return f"{1e3 * goodput_MBps:,.0f} kB/s" if slow else f"{goodput_MBps:,.0f} MB/s"


def duration(seconds: float) -> str:
    """``45 s``, ``3 min 10 s``, ``2 h 5 min``."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        minutes, rest = divmod(whole, 60)
        return f"{minutes} min {rest} s" if minutes < 10 and rest else f"{minutes} min"
    hours, minutes = divmod(whole // 60, 60)
    return f"{hours} h {minutes} min"
