"""Stop a tune process the moment at which a journal of its host has a record of a kind.

    python stop_at_record.py JOURNALS VERB < PID

The moment is short. This is a process, since a thread of the tests waits for the other threads."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path


def recorded(journals: Path, verb: str) -> bool:
    """True if a journal has such a record; one that is removed meanwhile has none."""
    for journal in journals.glob("*"):
        with suppress(FileNotFoundError):
            if f" {verb} n=" in journal.read_text():
                return True
    return False


def main(journals: str, verb: str) -> None:
    """Stop the process; an error if it ends first."""
    os.nice(-20)  # while it waits for a CPU, the moment passes
    pid = int(sys.stdin.readline())
    while not recorded(Path(journals), verb):
        os.kill(pid, 0)
        time.sleep(0.0005)
    os.kill(pid, signal.SIGSTOP)


main(*sys.argv[1:])
