"""Kernels of a worker's own notebooks, forked from one process as those of `netlab report` are.

A new interpreter takes 2 s of CPU to import netlab. A worker of pytest has several threads, so it
cannot be forked itself. Run as a program, this file is the process that forks them."""

from __future__ import annotations

import importlib
import socket
import subprocess
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from netlab.notebooks import forkserver
from netlab.report.execution import SHARED

IMPORTED = (
    *("netlab.cli", "netlab.experiment.campaign", "netlab.face.block"),
    *("netlab.report.publish", *SHARED),
)


def start() -> forkserver.ForkServer:
    """Start the process; from now on the kernels of this one are forked."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )
    server = forkserver.ForkServer(Connection(ours.detach()), process.pid)
    process.returncode = 0  # the server waits for it
    forkserver._running = server
    return server


def main() -> None:
    """Import netlab, and serve."""
    for module in IMPORTED:
        importlib.import_module(module)
    sys.path.remove(str(Path(__file__).parent))
    forkserver.serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
