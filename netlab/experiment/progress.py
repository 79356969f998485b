"""Progress of a campaign and its report: callbacks, the time left, and displays of both."""

from __future__ import annotations

import html
import json
import math
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Self

from netlab.files.writing import parse_json
from netlab.measure.flags import INTERFERENCE
from netlab.study.schedule import VISIT_S, Visit

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from netlab.experiment.adaptive import Look


@dataclass(frozen=True)
class RunDone:
    """A run that ended, as the kernel of a block announces it."""

    run_id: str
    goodput_MBps: float | None = None
    cpu_percent: float | None = None
    flags: str = ""
    message: str = ""

    @classmethod
    def of(cls, row: Mapping) -> RunDone:
        goodput, cpu = (_number(row.get(n)) for n in ("goodput_MBps", "busiest_core_percent"))
        texts = (str(row.get(name) or "") for name in ("flags", "message"))
        return cls(str(row["run_id"]), goodput, cpu, *texts)

    @classmethod
    def parsed(cls, text: str) -> RunDone:
        return cls(**parse_json(text))

    @property
    def text(self) -> str:
        return json.dumps(asdict(self))


def _rate(goodput_MBps: float) -> str:
    """Goodput in whole MB/s; of a slow path in kB/s, where it would read 0."""
    slow = 0 < goodput_MBps < 1
    return f"{1e3 * goodput_MBps:,.0f} kB/s" if slow else f"{goodput_MBps:,.0f} MB/s"


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


class Watcher:
    """Callbacks of a campaign; the displays of progress follow it through them."""

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
        """The campaign starts: `kept` of `runs` have a valid record, `visits` visits are left.

        `until` names the event that these runs lead to, if more may follow it. With `again`
        disturbed runs may be measured again.
        """

    def look(self, look: Look, runs: int, visits: int, until: str = "") -> None:
        """The cells were tested after a round; `runs` and `visits` follow, to the next test."""

    def again(self, runs: int, visits: int) -> None:
        """Disturbed runs are measured again, in so many visits."""

    def note(self, text: str) -> None:
        """A message for the user, such as what is waited for."""

    def visit(self, visit: Visit) -> None:
        """A visit of a block starts."""

    def run_done(self, run: RunDone) -> None:
        """A run is done."""

    def end(self) -> None:
        """All rounds are done."""


# State of a campaign and its report, for the displays of progress.

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


# Displays of progress: one output of a notebook, a terminal, or plain lines.

NOTES_SHOWN = 3
BAR_WIDTH = 40


class Display(ABC):
    """A place that shows the state of a campaign, once in a time at most, and its last state."""

    every_s = 0.0

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.shown_at: float | None = None

    def show(self, tally: Tally) -> None:
        now = self.clock()
        if self.shown_at is None or now - self.shown_at >= self.every_s:
            self.draw(tally)
            self.shown_at = now

    @abstractmethod
    def draw(self, tally: Tally) -> None: ...

    def note(self, text: str) -> None:
        """Show a message for the user."""
        print(f"netlab: {text}", file=sys.stderr)

    def close(self, tally: Tally) -> None:
        self.draw(tally)


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

    sentences = "".join(f"<div>{html.escape(line)}</div>" for line in tally.lines)
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
    return f'<div class="netlab-live">{bar}{sentences}{noted}{chart}</div>'


class NotebookDisplay(Display):
    """One output of a notebook, replaced in place; the saved notebook has its last state."""

    every_s = 0.5

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        super().__init__(clock)
        self._id = f"netlab-{id(self)}-{clock():.6f}"
        self._notes: list[str] = []

    def note(self, text: str) -> None:
        """Add a message to the next state."""
        self._notes.append(text)

    def draw(self, tally: Tally) -> None:
        from IPython.display import display, update_display

        content = {
            "text/html": as_html(tally, self._notes),
            "text/plain": "\n".join((*tally.lines, *self._notes[-NOTES_SHOWN:])),
        }
        put = display if self.shown_at is None else update_display
        put(content, raw=True, display_id=self._id)


class TerminalDisplay(Display):
    """A bar and its sentences at the end of a terminal; notes scroll above them."""

    def __init__(self, console: Console | None = None):
        from rich.console import Console
        from rich.live import Live

        super().__init__()
        self._console = console or Console(stderr=True)
        # without its thread: every event of a campaign draws the state again
        self._live = Live(
            console=self._console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )

    def draw(self, tally: Tally) -> None:
        self._live.start()
        self._live.update(_drawn(tally), refresh=True)

    def note(self, text: str) -> None:
        self._console.print(f"netlab: {text}", markup=False, highlight=False)

    def close(self, tally: Tally) -> None:
        """Draw the last state and leave it there."""
        self.draw(tally)
        self._live.stop()


def _drawn(tally: Tally) -> RenderableType:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    rows = Table.grid()
    rows.add_row(ProgressBar(total=100, completed=tally.percent, width=BAR_WIDTH))
    for line in tally.lines:
        rows.add_row(Text(line, overflow="ellipsis", no_wrap=True))
    return rows


class LinesDisplay(Display):
    """Lines on standard error, for logs and pipes."""

    every_s = 10.0

    def draw(self, tally: Tally) -> None:
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
