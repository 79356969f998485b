"""One progress bar, with an estimate of the time left, from the first run to the report."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

from tqdm import tqdm

from netlab.experiment.watcher import Watcher
from netlab.study.schedule import VISIT_S, Visit

if TYPE_CHECKING:
    from netlab.experiment.adaptive import Look

REPORT_S = 40.0
"""Estimated time to execute the analysis notebooks and write the site."""


class Steady(tqdm):
    """A tqdm bar over a monotonic clock, without a thread, that never passes its end."""

    total: float | None
    monitor_interval = 0  # no thread, and no warning that one cannot start

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        # the wall clock may be set; `tqdm.time` is it
        self._time = time.monotonic
        self.start_t = self.last_print_t = self._time()

    def update(self, n: float | None = 1) -> bool | None:
        """Advance; work beyond the estimate raises the total."""
        if self.total is not None:
            self.total = max(self.total, self.n + (n or 0))
        return super().update(n)


class Bar(Watcher):
    """A progress bar in seconds of expected work, for a campaign and its report.

    Parameters
    ----------
    report : bool
        True if a report follows the campaign under the same bar.
    """

    def __init__(self, *, report: bool = True) -> None:
        self._bar: Steady | None = None
        self._each_s = 1.0
        self._report_left_s = REPORT_S if report else 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def _open(self, total_s: float) -> Steady:
        if self._bar is None:
            self._bar = Steady(
                total=total_s,
                bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed} elapsed, {remaining} left",
                desc="netlab",
            )
        return self._bar

    def start(self, runs: int, kept: int, visits: int, seconds_per_run: float) -> None:
        """Size the bar by the runs left to measure."""
        self._each_s = seconds_per_run
        work_s = (runs - kept) * seconds_per_run + visits * VISIT_S
        bar = self._open(work_s + self._report_left_s)
        if kept:
            bar.write(
                f"netlab: {kept} of {runs} runs have a valid record and are kept", file=sys.stderr
            )

    def look(self, look: Look, runs: int, visits: int) -> None:
        """Add the work until the next look, and say how many cells go on."""
        if self._bar is not None:
            self._bar.write(f"netlab: {look.text}", file=sys.stderr)
            self._more(runs, visits)

    def again(self, runs: int, visits: int) -> None:
        """Add the work of disturbed runs that are measured again."""
        if self._bar is not None:
            words = "run is" if runs == 1 else "runs are"
            self._bar.write(f"netlab: {runs} disturbed {words} measured again", file=sys.stderr)
            self._more(runs, visits)

    def note(self, text: str) -> None:
        """Print a message above the bar."""
        if self._bar is not None:
            self._bar.write(f"netlab: {text}", file=sys.stderr)

    def _more(self, runs: int, visits: int) -> None:
        if self._bar is not None and self._bar.total is not None:
            self._bar.total += runs * self._each_s + visits * VISIT_S
            self._bar.refresh()

    def visit(self, visit: Visit) -> None:
        """Show the block under measurement and its round."""
        if self._bar is not None:
            self._bar.set_description(
                f"round {visit.round}: {visit.path} {visit.tuning} {visit.mtu_text}"
            )
            self._bar.update(VISIT_S)

    def run_done(self) -> None:
        """Advance by one run."""
        if self._bar is not None:
            self._bar.update(self._each_s)

    def step(self, text: str, share: float) -> None:
        """Advance the report's part by `share`, and show `text`."""
        bar = self._open(self._report_left_s)
        bar.set_description(text)
        step_s = min(self._report_left_s, share * REPORT_S)
        self._report_left_s -= step_s
        bar.update(step_s)
