"""Progress of a campaign and its report, shown from the first run to the last page."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, Self

from netlab.experiment.watcher import DONE, PUBLISHING, STOPPED, Estimate, RunDone, Tally, Watcher
from netlab.measure.flags import INTERFERENCE
from netlab.study.schedule import VISIT_S, Visit

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from netlab.experiment.adaptive import Look


# Displays of progress: one output of a notebook, a terminal, or plain lines.

NOTEBOOK_EVERY_S = 0.5
LINES_EVERY_S = 10.0
NOTES_SHOWN = 3
BAR_WIDTH = 40


class Display(Protocol):
    """A place that shows the state of a campaign."""

    def show(self, tally: Tally) -> None:
        """Show the state; a display may leave out states that follow one another fast."""

    def note(self, text: str) -> None:
        """Show a message for the user."""

    def close(self, tally: Tally) -> None:
        """Show the last state."""


def choose() -> Display:
    if in_notebook():
        return NotebookDisplay()
    return TerminalDisplay() if sys.stderr.isatty() else LinesDisplay()


def in_notebook() -> bool:
    """True in the kernel of a notebook.

    IPython is not imported for it: a worker may be importing it, and two imports at once deadlock.
    """
    module = sys.modules.get("IPython.core.interactiveshell")
    shell = getattr(module, "InteractiveShell", None)
    return shell is not None and shell.initialized() and hasattr(shell.instance(), "kernel")


def as_html(tally: Tally, notes: list[str]) -> str:
    """The state as HTML: a bar, its sentences, the latest notes and the chart of the runs."""
    from netlab.charts.live import live_chart

    said = "".join(f"<div>{html.escape(line)}</div>" for line in tally.lines)
    noted = "".join(f"<div>{html.escape(note)}</div>" for note in notes[-NOTES_SHOWN:])
    runs = tally.measured
    chart = live_chart(
        [run.goodput_MBps for run in runs],
        [run.cpu_percent for run in runs],
        [bool(run.flags) for run in runs],
    )
    bar = (
        f'<progress max="100" value="{tally.percent}" aria-label="Progress" '
        'style="width:100%;max-width:640px"></progress>'
    )
    return f'<div class="netlab-live">{bar}{said}{noted}{chart}</div>'


class NotebookDisplay:
    """One output of a notebook, replaced in place; the saved notebook has its last state."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._shown_at: float | None = None
        self._id = f"netlab-{id(self)}-{clock():.6f}"
        self._notes: list[str] = []

    def show(self, tally: Tally) -> None:
        now = self._clock()
        if self._shown_at is None or now - self._shown_at >= NOTEBOOK_EVERY_S:
            self._put(tally)
            self._shown_at = now

    def note(self, text: str) -> None:
        self._notes.append(text)

    def close(self, tally: Tally) -> None:
        self._put(tally)

    def _put(self, tally: Tally) -> None:
        from IPython.display import display, update_display

        content = {
            "text/html": as_html(tally, self._notes),
            "text/plain": "\n".join((*tally.lines, *self._notes[-NOTES_SHOWN:])),
        }
        put = display if self._shown_at is None else update_display
        put(content, raw=True, display_id=self._id)


class TerminalDisplay:
    """A bar and its sentences at the end of a terminal; notes scroll above them."""

    def __init__(self, console: Console | None = None):
        from rich.console import Console
        from rich.live import Live

        self._console = console or Console(stderr=True)
        # without its thread: every event of a campaign draws the state again
        self._live = Live(
            console=self._console,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._begun = False

    def show(self, tally: Tally) -> None:
        if not self._begun:
            self._live.start()
            self._begun = True
        self._live.update(_drawn(tally), refresh=True)

    def note(self, text: str) -> None:
        self._console.print(f"netlab: {text}", markup=False, highlight=False)

    def close(self, tally: Tally) -> None:
        if self._begun:
            self.show(tally)
            self._live.stop()
            self._begun = False


def _drawn(tally: Tally) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid()
    rows.add_row(ProgressBar(total=100, completed=tally.percent, width=BAR_WIDTH))
    for line in tally.lines:
        rows.add_row(Text(line, overflow="ellipsis", no_wrap=True))
    return rows


class LinesDisplay:
    """Lines on standard error, for logs and pipes: one in ten seconds at most, and the last."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._shown_at: float | None = None

    def show(self, tally: Tally) -> None:
        now = self._clock()
        if self._shown_at is None or now - self._shown_at >= LINES_EVERY_S:
            self._shown_at = now
            self._print(tally)

    def note(self, text: str) -> None:
        print(f"netlab: {text}", file=sys.stderr)

    def close(self, tally: Tally) -> None:
        if self._shown_at is not None or tally.stage in (DONE, STOPPED):
            self._print(tally)

    def _print(self, tally: Tally) -> None:
        print(f"netlab: {'; '.join(tally.lines)}", file=sys.stderr, flush=True)


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
        if self._counts_again and INTERFERENCE in run.flags:
            self._again_s += self._each_s
            self.tally.work_s += self._each_s
        for flag in filter(None, run.flags.split(",")):
            if flag not in self._named:
                self._named.add(flag)
                self.note(f"the first run flagged {flag}: {run.message or run.run_id}")
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
