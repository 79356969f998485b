"""Machines as they are just after a boot, saved beside their image, with which a test begins.

They hold until this machine boots again: an interpreted clock counts the ticks of its processor."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

BOOT = Path("/proc/sys/kernel/random/boot_id")
HERE = Path(__file__).parent
TIMEOUT_S = 60.0


class Monitor:
    """QEMU's monitor of a machine (QMP)."""

    def __init__(self, path: Path):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        self._socket.connect(str(path))
        self._lines = self._socket.makefile("r")
        self._lines.readline()
        self.ask("qmp_capabilities")

    def ask(self, command: str, **arguments: object) -> dict:
        """The answer to a command; events are left out."""
        request = {"execute": command, "arguments": arguments}
        self._socket.sendall(json.dumps(request).encode())
        for line in self._lines:
            answer = json.loads(line)
            assert "error" not in answer, (request, answer)
            if "return" in answer:
                return answer["return"]
        raise AssertionError(f"QEMU's monitor closed after {request}")

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


def saved(place: Path, program: str, settings: str, make: Callable[[Path], None]) -> Path:
    """The directory of saved machines; made if there is none, by one process at a time.

    Parameters
    ----------
    place : Path
        Directory of the image.
    program : str
        QEMU's, whose version counts.
    settings : str
        What the machines are made of, beside the image.
    make : callable
        Fills a directory.
    """
    version = subprocess.run(
        (program, "--version"), capture_output=True, text=True, check=True
    ).stdout
    parts = [settings, version, BOOT.read_text()]
    parts += [path.read_text() for path in (HERE / "guest.py", Path(__file__))]
    directory = place / f"saved-{hashlib.sha256(''.join(parts).encode()).hexdigest()[:16]}"
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            for old in place.glob("saved-*"):
                shutil.rmtree(old)
            fresh = place / "saved-fresh"
            shutil.rmtree(fresh, ignore_errors=True)  # of a process that was killed
            fresh.mkdir()
            make(fresh)
            fresh.rename(directory)
    return directory
