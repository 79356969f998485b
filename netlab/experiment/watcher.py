"""Who is told how a campaign goes, without what runs one: that takes seconds to load."""

from __future__ import annotations

from netlab.study.schedule import Block


class Watcher:
    """Is told of every run that is done; the command line draws a progress bar from it."""

    def start(self, runs: int, kept: int, blocks: int, seconds_per_run: float) -> None:
        """The campaign begins: `kept` of `runs` runs stand, `blocks` blocks are to be measured."""

    def block(self, block: Block) -> None:
        """A block begins."""

    def run_done(self) -> None:
        """A run is done."""

    def end(self) -> None:
        """All blocks are done."""
