"""Displays of progress: one output of a notebook, a terminal, or plain lines."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from netlab.experiment.tally import DONE, STOPPED, Tally

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

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
    """The display for this process: of its notebook, its terminal, or lines without either."""
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
        """Replace the output, at most twice a second."""
        now = self._clock()
        if self._shown_at is None or now - self._shown_at >= NOTEBOOK_EVERY_S:
            self._put(tally)
            self._shown_at = now

    def note(self, text: str) -> None:
        """Add a message to the next state."""
        self._notes.append(text)

    def close(self, tally: Tally) -> None:
        """Show the last state."""
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
        """Draw the state."""
        if not self._begun:
            self._live.start()
            self._begun = True
        self._live.update(_drawn(tally), refresh=True)

    def note(self, text: str) -> None:
        """Print a message above the bar."""
        self._console.print(f"netlab: {text}", markup=False, highlight=False)

    def close(self, tally: Tally) -> None:
        """Draw the last state and leave it there."""
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
        """Print the state if the last line is old enough."""
        now = self._clock()
        if self._shown_at is None or now - self._shown_at >= LINES_EVERY_S:
            self._shown_at = now
            self._print(tally)

    def note(self, text: str) -> None:
        """Print a message."""
        print(f"netlab: {text}", file=sys.stderr)

    def close(self, tally: Tally) -> None:
        """Print the last state."""
        if self._shown_at is not None or tally.stage in (DONE, STOPPED):
            self._print(tally)

    def _print(self, tally: Tally) -> None:
        print(f"netlab: {'; '.join(tally.lines)}", file=sys.stderr, flush=True)
