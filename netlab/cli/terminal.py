"""Questions of ssh at the terminal of a command."""

from __future__ import annotations

from contextlib import AbstractContextManager

from netlab.hosts.controls import CONTROLS
from netlab.hosts.terminal import asking


def asking_at_terminal() -> AbstractContextManager[None]:
    """Let ssh ask for a passphrase or a second factor within the block, if there is a terminal."""
    return asking(lambda: CONTROLS.path().parent)
