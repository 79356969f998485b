"""Progress of a notebook's work, sent to whoever executes the notebook."""

from __future__ import annotations

import sys

MIME = "application/vnd.netlab.progress"
NOTE = "note: "
"""Begins a message for the user, in place of a run's id."""
WAITED = "waited: "
"""Begins a message of the seconds that hosts were waited for."""
_listened = False


def listen() -> None:
    """Send progress from this process on. The executor of notebooks calls it in its kernel."""
    global _listened
    _listened = True


def listening() -> bool:
    """True if an executor of notebooks follows this process."""
    return _listened


def announce(text: str) -> None:
    """Send one message, such as the id of a finished run; without an executor, do nothing."""
    if _listened:
        from IPython.display import display  # a kernel has loaded it; a fleet's job needs none

        display({MIME: text}, raw=True)


def note(text: str) -> None:
    """Send a message for the user; to standard error where nobody listens."""
    if _listened:
        announce(NOTE + text)
    else:
        print(f"netlab: {text}", file=sys.stderr)
