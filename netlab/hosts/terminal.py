"""The terminal of a command, at which ssh may ask for a passphrase or a second factor.

Such a login is made once: it stays until the command ends, and the command's kernels use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from netlab.errors import printable

PLACE = "NETLAB_LOGINS"
"""Variable of the environment: the directory of these logins."""
ASK_TIMEOUT_S = 300.0


class Terminal:
    """One question at a time; while ssh asks, it is the foreground of the terminal."""

    def __init__(self, descriptor: int):
        self._descriptor = descriptor
        self.lock = threading.Lock()
        self.interrupted = False

    def print(self, text: str) -> None:
        lines = [f"{printable(line)}\r\n" for line in text.split("\n")]
        os.write(self._descriptor, "".join(lines).encode("utf-8", "replace"))

    @contextlib.contextmanager
    def foreground(self, group: int) -> Iterator[None]:
        """Let a process group read; Ctrl-C ends it alone."""
        before = os.tcgetpgrp(self._descriptor), termios.tcgetattr(self._descriptor)
        # changing a terminal from its background stops a process otherwise
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
        try:
            os.tcsetpgrp(self._descriptor, group)
            os.killpg(group, signal.SIGCONT)  # it may have read too early
            yield
        finally:
            with contextlib.suppress(OSError, termios.error):
                os.tcsetpgrp(self._descriptor, before[0])
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, before[1])
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


_terminal: Terminal | None = None


def terminal() -> Terminal | None:
    """The terminal at which ssh may ask now; None in a notebook, a fleet or a script."""
    return _terminal


@contextlib.contextmanager
def asking(directory: Callable[[], Path]) -> Iterator[None]:
    """Let ssh ask within the block, if this process has a terminal; logins lie in a directory."""
    global _terminal
    descriptor = None if _terminal else _foreground_terminal()
    if descriptor is None:
        yield
        return
    try:
        _terminal = Terminal(descriptor)
        os.environ[PLACE] = str(directory())
        yield
    finally:
        _terminal = None
        os.environ.pop(PLACE, None)
        os.close(descriptor)


def _foreground_terminal() -> int | None:
    """Descriptor of the terminal, if this process may read from it now."""
    if not (os.isatty(0) and os.isatty(2)):
        return None
    with contextlib.suppress(OSError):
        descriptor = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC)
        if os.tcgetpgrp(descriptor) == os.getpgrp():
            return descriptor
        os.close(descriptor)
    return None


def place_of_login(*parts: object) -> Path | None:
    """Path of the login that a host's address and options name; None where none is asked for."""
    directory = os.environ.get(PLACE)
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogateescape")).hexdigest()
    return Path(directory) / digest[:16] if directory else None
