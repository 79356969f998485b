"""End with the parent: no process of a fleet outlives the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent(number: int = signal.SIGTERM, parent: int | None = None) -> None:
    """Ask the kernel for a signal when the process that started this one dies (Linux).

    Parameters
    ----------
    number : int
        The signal.
    parent : int, optional
        Process id of the parent; if it is dead already, the signal is sent now.

    Raises
    ------
    OSError
        The kernel refuses.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), number)
