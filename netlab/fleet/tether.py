"""End with the parent: no process of a fleet outlives the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal

from netlab.errors import Unsupported

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number: int = signal.SIGTERM, parent: int | None = None) -> None:
    """Ask the kernel for a signal when the process that started this one dies (Linux)."""
    if _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0):
        reason = os.strerror(ctypes.get_errno())
        raise Unsupported(f"prctl(PR_SET_PDEATHSIG): {reason}", code="E-FLEET-038")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)
