"""Progress of a campaign and of its report, on the display for where they run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from netlab.experiment.display import Display, LinesDisplay
from netlab.experiment.tally import DONE, PUBLISHING, STOPPED, Estimate, Tally
from netlab.experiment.watcher import RunDone, Watcher
from netlab.results.flags import Flag, remedy_of, split_flags
from netlab.study.durations import VISIT_S
from netlab.study.schedule import Visit

if TYPE_CHECKING:
    from netlab.experiment.adaptive import Look


def choose() -> Display:
    """The display for where this process runs; IPython or rich is loaded for its own alone."""
    if in_notebook():
        # IPython, which a kernel alone has loaded
        from netlab.experiment.notebook_display import NotebookDisplay

        return NotebookDisplay()
    if sys.stderr.isatty():
        # rich: 60 ms of CPU time that a job without a terminal does not spend
        from netlab.experiment.terminal_display import TerminalDisplay

        return TerminalDisplay()
    return LinesDisplay()


def in_notebook() -> bool:
    """True in the kernel of a notebook.

    IPython is not imported for it: a worker may be importing it, and two imports at once deadlock.
    """
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = getattr(module, "InteractiveShell", None)
    return shell is not None and shell.initialized() and hasattr(shell.instance(), "kernel")


REPORT_S = 30.0
"""Estimated time to execute the analysis notebooks and write the site."""


class Progress(Watcher):
    """Progress of a campaign, of its report, or of both; a context manager."""

    def __init__(
        self,
        *,
        report: bool = True,
        display: Display | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tally = Tally()
        self._display, self._clock = display, clock
        self._estimate: Estimate | None = None
        self._each_s, self._again_s, self._counts_again = 1.0, 0.0, False
        self._named: set[str] = set()
        self._report_left_s = REPORT_S if report else 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None = None, *_exception: object) -> None:
        if self._display is None:
            return
        self.tally.stage = DONE if kind is None else STOPPED
        self.tally.place = ""
        if self._estimate is not None:
            self.tally.elapsed_s = self._estimate.elapsed_s
        self._display.close(self.tally)

    def start(
        self,
        runs: int,
        kept: int,
        visits: int,
        seconds_per_run: float,
        until: str = "",
        *,
        again: bool = False,
    ) -> None:
        """Size the work by the runs left to measure."""
        self._each_s, self._counts_again = seconds_per_run, again
        self.tally.runs, self.tally.done, self.tally.until = runs, kept, until
        self.tally.work_s = self._work_s(runs - kept, visits) + self._report_left_s
        self._show()
        if kept:
            self.note(f"{kept} of {runs} runs have a valid record and are kept")

    def look(self, look: Look, runs: int, visits: int, until: str = "") -> None:
        """Add the work until the next test, and say how many cells go on."""
        self.tally.precision, self.tally.until = look.text, until
        self.tally.runs += runs
        self.tally.work_s += self._work_s(runs, visits)
        self._show()

    def again(self, runs: int, visits: int) -> None:
        """Put the work of disturbed runs that are measured again in the place of its estimate."""
        self.tally.work_s += max(0.0, self._work_s(runs, visits) - self._again_s)
        self._again_s = 0.0
        self.tally.runs += runs
        self.note(f"{runs} disturbed {'run is' if runs == 1 else 'runs are'} measured again")

    def note(self, text: str) -> None:
        self._shown_on().note(text)

    def visit(self, visit: Visit) -> None:
        self.tally.place = f"round {visit.round}, {visit.path}, {visit.tuning}, {visit.mtu_text}"
        self._advance(VISIT_S)
        self._show()

    def run_done(self, run: RunDone) -> None:
        self.tally.measured.append(run)
        self.tally.done += 1
        self.tally.runs = max(self.tally.runs, self.tally.done)
        if self._counts_again and Flag.INTERFERENCE in split_flags(run.flags):
            self._again_s += self._each_s
            self.tally.work_s += self._each_s
        for flag in split_flags(run.flags):
            if flag not in self._named:
                self._named.add(flag)
                reason = run.message or run.run_id
                self.note(f"the first run flagged {flag}: {reason}; to do: {remedy_of(flag)}")
        self._advance(self._each_s)
        self._show()

    def end(self) -> None:
        self.tally.until = ""
        left_s = max(0.0, self.tally.work_s - self._report_left_s - self.tally.done_s)
        self._advance(left_s)
        self._show()

    def step(self, text: str, share: float) -> None:
        """Advance the report's part by `share`, and show `text`."""
        tally = self.tally
        if tally.stage != PUBLISHING:
            tally.stage, tally.work_s = PUBLISHING, max(tally.work_s, self._report_left_s)
        tally.place = text
        step_s = min(self._report_left_s, share * REPORT_S)
        self._report_left_s -= step_s
        self._advance(step_s)
        self._show()

    def _work_s(self, runs: int, visits: int) -> float:
        return runs * self._each_s + visits * VISIT_S

    def _advance(self, work_s: float) -> None:
        """Add finished work; work beyond the estimate raises the whole."""
        tally = self.tally
        tally.done_s += work_s
        tally.work_s = max(tally.work_s, tally.done_s + self._report_left_s)

    def _show(self) -> None:
        self._shown_on().show(self.tally)

    def _shown_on(self) -> Display:
        self._estimate = self._estimate or Estimate(self._clock)
        self._display = self._display or choose()
        # the report follows the last test
        later_s = self._report_left_s if self.tally.until else 0.0
        self.tally.left_s = self._estimate.left_s(self.tally.done_s, self.tally.work_s - later_s)
        self.tally.elapsed_s = self._estimate.elapsed_s
        return self._display
