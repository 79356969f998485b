"""Ctrl-C while a command begins and ends, when there is nothing to clean up.

Python prints a traceback of an import, and click its own word. In between, a command cleans up.
"""

from __future__ import annotations

import os
import signal
from types import FrameType


def _end(_number: int, _frame: FrameType | None) -> None:
    """End without a return to code that may take the exception for another one, or swallow it."""
    os.write(2, b"netlab: interrupted; nothing was changed\n")
    os._exit(128 + signal.SIGINT)


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process at once, until a command runs; where ignored, it stays so."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def clean_up_on_interrupt() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def die_of_interrupt() -> None:
    """Let Ctrl-C end this process as any other does, while Python ends: all work is done."""
    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _end):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
