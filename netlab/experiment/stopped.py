"""The interrupt of a campaign, for its user: one sentence in place of a traceback."""

from __future__ import annotations


class Stopped(KeyboardInterrupt):
    """A campaign was interrupted: its results are stored, its hosts reverted."""

    def __init__(self, text: str, interrupt: KeyboardInterrupt):
        super().__init__(*interrupt.args)
        self.text = text

    def __str__(self) -> str:
        return self.text

    def _render_traceback_(self) -> list[str]:
        """Lines that a notebook shows."""
        return [self.text]
