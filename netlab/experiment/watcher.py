"""Progress callbacks. A module of its own, so that importing it stays fast."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netlab.study.schedule import Visit

if TYPE_CHECKING:
    from netlab.experiment.adaptive import Look


class Watcher:
    """Callbacks of a campaign; the command line draws its progress bar from them."""

    def start(self, runs: int, kept: int, visits: int, seconds_per_run: float) -> None:
        """The campaign starts: `kept` of `runs` have a valid record, `visits` visits are left."""

    def look(self, look: Look, runs: int, visits: int) -> None:
        """The cells were tested after a round; `runs` and `visits` follow until the next test."""

    def again(self, runs: int, visits: int) -> None:
        """Disturbed runs are measured again, in so many visits."""

    def note(self, text: str) -> None:
        """A message for the user, such as what is waited for."""

    def visit(self, visit: Visit) -> None:
        """A visit of a block starts."""

    def run_done(self) -> None:
        """A run is done."""

    def end(self) -> None:
        """All rounds are done."""
