"""The state of a campaign in one output of a notebook, with a chart of its runs."""

from __future__ import annotations

import html
import time
from collections.abc import Callable

from IPython.display import display, update_display

from netlab.charts.live import live_chart
from netlab.experiment.display import Display
from netlab.experiment.tally import Tally

NOTES_SHOWN = 3


def as_html(tally: Tally, notes: list[str]) -> str:
    """The state as HTML: a bar, its sentences, the latest notes and the chart of the runs."""
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
        content = {
            "text/html": as_html(tally, self._notes),
            "text/plain": "\n".join((*tally.lines, *self._notes[-NOTES_SHOWN:])),
        }
        put = display if self.shown_at is None else update_display
        put(content, raw=True, display_id=self._id)
