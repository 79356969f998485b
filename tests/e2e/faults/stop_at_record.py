"""Stop a tune process the moment at which the journal of its namespace gets or loses an entry.

    python stop_at_record.py INODE set|reverted < PID

The moment is short. This is a process, since a thread of the tests waits for the other threads."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def entries(inode: str) -> int:
    """Knobs in the journal of a network namespace."""
    for journal in Path("/run/netlab").glob(f"tune-{inode}-*.journal"):
        with suppress(FileNotFoundError):
            return len(journal.read_text().splitlines())
    return 0


def main(inode: str, change: str) -> None:
    """Stop the process; an error if it ends first."""
    # while it waits for a CPU, the moment passes; a nice value holds within a session alone
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    pid, most = int(sys.stdin.readline()), 0
    cpu = {min(os.sched_getaffinity(0))}  # on one CPU neither goes on while the other looks
    os.sched_setaffinity(0, cpu)
    os.sched_setaffinity(pid, cpu)
    while True:  # it goes on between two looks only, so that a late look misses nothing
        os.kill(pid, signal.SIGSTOP)
        now = entries(inode)
        if (now and change == "set") or (now < most and change == "reverted"):
            break
        most = now
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.0001)


main(*sys.argv[1:])
