"""A place that shows the state of a campaign, and lines on standard error."""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from netlab.experiment.tally import Tally


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


class LinesDisplay(Display):
    """Lines on standard error, for logs and pipes."""

    every_s = 10.0

    def draw(self, tally: Tally) -> None:
        print(f"netlab: {'; '.join(tally.lines)}", file=sys.stderr, flush=True)
