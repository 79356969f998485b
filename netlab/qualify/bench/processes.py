"""Run a tool's server and client on two hosts of a lab, bounded, and account for them."""

from __future__ import annotations

import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from netlab.errors import RunError
from netlab.generators.tools import Received, Tool, TransferRequest, Variant
from netlab.lab.lab import Lab
from netlab.qualify.bench.installed import Installed

LISTEN_S = 5.0
SLACK_S = 10.0
"""What a client may take beyond its transfer to connect, to drain and to report."""

END_S = 8.0
"""What a server may take to drain, to report and to end by itself once its client has."""

LOOK_S = 0.02
"""How often a server that stays is looked at for its result."""

MAX_OUTPUT_BYTES = 4 << 20
_LISTENING = "0A"
_NAMESPACES = Path("/run/netns")


class _Process:
    """A process of a lab host whose output goes to a file; ended when the block is left."""

    def __init__(self, lab: Lab, host: str, argv: Sequence[str], directory: str):
        self._namespace = lab.namespace(host)
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            # What leads into the host becomes the program: the pid is the program's own.
            self._process = subprocess.Popen(
                lab.inside(host, argv),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                cwd=directory,
                start_new_session=True,
            )
        except OSError:
            self._output.close()
            raise
        self._pidfd = os.pidfd_open(self._process.pid)
        self.cpu_s = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.running:
            self._process.terminate()
            self.wait(2.0)
        self.kill()
        os.close(self._pidfd)
        self._output.close()

    @property
    def running(self) -> bool:
        """Whether it has not been waited for."""
        return self._process.returncode is None

    def wait(self, timeout_s: float) -> int | None:
        """Exit status, and its CPU time noted; None while it runs."""
        if self.running and select.select([self._pidfd], [], [], max(0.0, timeout_s))[0]:
            _, status, usage = os.wait4(self._process.pid, 0)
            # Popen is told, or it would wait for a process that is no more.
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_s = usage.ru_utime + usage.ru_stime
        return self._process.returncode

    def kill(self) -> None:
        """End it at once."""
        if self.running:
            self._process.kill()
            self.wait(2.0)

    def text(self) -> str:
        """What it has printed so far; RunError if that is beyond all measure."""
        size = os.fstat(self._output.fileno()).st_size
        if size > MAX_OUTPUT_BYTES:
            raise RunError(f"printed over {MAX_OUTPUT_BYTES >> 20} MiB", code="limit")
        return os.pread(self._output.fileno(), size, 0).decode("utf-8", "replace")

    def listens(self, port: int) -> bool:
        """Whether its namespace has a socket that listens on a port, asked without connecting."""
        proc = Path(f"/proc/{self._process.pid}")
        try:
            there = (proc / "ns/net").stat().st_ino
            if there != (_NAMESPACES / self._namespace).stat().st_ino:
                return False  # still on its way into the namespace
            tables = [(proc / "net" / name) for name in ("tcp", "tcp6")]
            rows = [
                row.split()
                for table in tables
                if table.exists()
                for row in table.read_text().splitlines()[1:]
            ]
        except OSError:
            return False
        wanted = f":{port:04X}"
        return any(row[1].endswith(wanted) and row[3] == _LISTENING for row in rows)


def run_tool(
    installed: Installed,
    transfer: TransferRequest,
    variant: Variant,
    *,
    lab: Lab,
    sender: str,
    receiver: str,
) -> tuple[Received, float]:
    """One transfer by another tool.

    Parameters
    ----------
    installed : Installed
        The tool.
    transfer : TransferRequest
        What to move.
    variant : Variant
        How the tool is run.
    lab : Lab
        Whose hosts the ends are; the tool runs there as netlab's own agents do.
    sender, receiver : str
        The two hosts.

    Returns
    -------
    Received, float
        What the receiver counted, and the CPU time of both processes in s.

    Raises
    ------
    RunError
        The tool failed, did not end in time, or said what its parser refuses.
    """
    tool = installed.tool
    serve = (installed.program, *tool.server_arguments(transfer, variant))
    send = (installed.program, *tool.client_arguments(transfer, variant))
    with ExitStack() as stack:
        # What a tool may drop where it runs goes away with it.
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(_Process(lab, receiver, serve, directory))
        deadline = time.monotonic() + LISTEN_S
        while not server.listens(transfer.port):
            if server.wait(0.005) is not None or time.monotonic() > deadline:
                raise _failed("the server does not listen", server)
        client = stack.enter_context(_Process(lab, sender, send, directory))
        status = client.wait(transfer.seconds + SLACK_S)
        if status is None:
            raise _failed("the client did not end in time", client)
        if status != 0:
            raise _failed(f"the client's exit status is {status}", client)
        if tool.server_stays:
            received = _told(tool, transfer, server)
            server.kill()  # asked to end, iperf's takes a second, and the meters run
        else:
            if server.wait(END_S) is None and tool.reads == "server":
                raise _failed("the server did not end in time", server)
            text = (client if tool.reads == "client" else server).text()
            received = tool.parse(text, transfer)
    return received, client.cpu_s + server.cpu_s  # of a server that had to be ended, too


def _told(tool: Tool, transfer: TransferRequest, server: _Process) -> Received:
    """What a server that does not end by itself says, once that is whole and grows no more."""
    deadline = time.monotonic() + END_S
    seen = None
    while True:
        over = server.wait(LOOK_S) is not None or time.monotonic() > deadline
        text = server.text()
        if over or text == seen:
            try:
                return tool.parse(text, transfer)
            except RunError:
                if over:
                    raise
        seen = text


def _failed(what: str, process: _Process) -> RunError:
    lines = process.text().strip().splitlines()[-3:]
    return RunError(": ".join((what, *lines))[:400], code="peer")
