"""This machine behind the Host interface: a double for tests that need no network."""

import os
import shutil
from pathlib import Path

from subprocess_pipe import SubprocessPipe

from netlab.errors import HostError
from netlab.hosts.host import Host


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
