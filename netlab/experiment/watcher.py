"""Progress callbacks. A module of its own, so that importing it stays fast."""

from __future__ import annotations

from netlab.study.schedule import Block


class Watcher:
    """Callbacks of a campaign; the command line draws its progress bar from them."""

    def start(self, runs: int, kept: int, blocks: int, seconds_per_run: float) -> None:
        """The campaign starts: `kept` of `runs` have a valid record, `blocks` blocks are left."""

    def block(self, block: Block) -> None:
        """A block starts."""

    def run_done(self) -> None:
        """A run is done."""

    def end(self) -> None:
        """All blocks are done."""
