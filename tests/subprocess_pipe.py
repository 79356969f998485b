"""The streams of a process on this machine: a pipe for tests that need no SSH."""

from __future__ import annotations

import os
import select
import subprocess
import threading
from collections.abc import Sequence

from netlab.hosts.host import STDERR_KEPT_BYTES


class SubprocessPipe:
    """The streams of a process on this machine, in a session of its own."""

    def __init__(self, argv: Sequence[str]):
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        # Closing a descriptor under a writer could lead its bytes into the next file opened.
        self._input = threading.Lock()
        self._stderr = bytearray()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self) -> None:
        while chunk := self._process.stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-STDERR_KEPT_BYTES]

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        with self._input:
            while view:
                view = view[self._process.stdin.write(view) :]

    def close_input(self) -> None:
        with self._input:
            self._process.stdin.close()

    def read(self, size: int, timeout_s: float) -> bytes:
        ready, _, _ = select.select([self._process.stdout], [], [], timeout_s)
        if not ready:
            raise TimeoutError
        return os.read(self._process.stdout.fileno(), size)

    def stderr_text(self) -> str:
        if self._process.poll() is not None:
            self._reader.join(1.0)
        return bytes(self._stderr).decode("utf-8", "replace")

    def exit_status(self, timeout_s: float) -> int | None:
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def lost(self) -> str:
        return ""

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        # A child of the process may hold its streams open; those in use are then left as they are.
        if self._input.acquire(timeout=1.0):
            self._process.stdin.close()
            self._input.release()
        self._process.stdout.close()
        self._reader.join(1.0)
        if not self._reader.is_alive():
            self._process.stderr.close()
