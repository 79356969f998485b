"""This machine behind the Host interface: a double for tests that need no network."""

import os
import select
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from netlab.errors import HostError
from netlab.hosts.host import Host
from netlab.hosts.line_process import STDERR_KEPT_BYTES


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


class LocalHost(Host):
    """Runs commands as children of the test, with a home directory and a PATH of its own."""

    def __init__(self, home: Path, path: str | None = None):
        super().__init__("here")
        self.home, self.path = home, path
        self.puts: list[str] = []
        self.spoil = False

    def open(self) -> None:
        self.home.mkdir(exist_ok=True)

    def close(self) -> None:
        return

    def put(self, local: Path, remote: str, mode: int) -> None:
        self.puts.append(remote)
        try:
            shutil.copy(local, remote)
            if self.spoil:
                with open(remote, "ab") as target:
                    target.write(b"x")
            os.chmod(remote, mode)
        except OSError as problem:
            raise HostError(self.name, f"{remote} cannot be written: {problem}") from problem

    def read_bytes(self, remote: str) -> bytes:
        return Path(remote).read_bytes()

    def _spawn(self, argv: tuple[str, ...]) -> SubprocessPipe:
        words = [f"HOME={self.home}", f"PATH={self.path or os.environ['PATH']}"]
        return SubprocessPipe(("/usr/bin/env", "-u", "XDG_CACHE_HOME", *words, *argv))
