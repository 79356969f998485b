"""The state of a campaign at the end of a terminal: a bar and its sentences."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from netlab.experiment.display import Display
from netlab.experiment.tally import Tally

BAR_WIDTH = 40


class TerminalDisplay(Display):
    """A bar and its sentences at the end of a terminal; notes scroll above them."""

    def __init__(self, console: Console | None = None):
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
    rows = Table.grid()
    rows.add_row(ProgressBar(total=100, completed=tally.percent, width=BAR_WIDTH))
    for line in tally.lines:
        rows.add_row(Text(line, overflow="ellipsis", no_wrap=True))
    return rows
