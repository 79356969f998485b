"""Locks under flock that say which process has them, of which user and since when."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pwd
import time

HOLDER_B = 200


def take(lock: int) -> str | None:
    """Lock an open file, without waiting, and write the holder into it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(lock, HOLDER_B, 0).decode("utf-8", "replace")
        return "".join(c if c.isprintable() else "?" for c in text) or "another process"
    # The lock counts, not the text: a full disk is not a failure.
    with contextlib.suppress(OSError):
        os.ftruncate(lock, 0)
        os.pwrite(lock, _this_process().encode(), 0)
    return None


def _this_process() -> str:
    try:
        user = pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        user = str(os.geteuid())
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return f"process {os.getpid()} of user {user} since {since}"
