"""Removal of a lab whose process dies."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys

from netlab.errors import HostError
from netlab.lab import reaper


class Guard:
    """A process that removes a lab when this process dies."""

    def __init__(self, lab_id: str, token: str):
        owner = os.pidfd_open(os.getpid())
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", reaper.__file__, lab_id, token, str(owner)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                pass_fds=(owner,),
            )
        finally:
            os.close(owner)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        if self._stdout.readline() != b"ready\n":
            self._process.kill()
            self._process.communicate()
            raise HostError(
                "lab", "the process that cleans up after a crash did not start", code="E-LAB-014"
            )

    def release(self) -> None:
        """End the guard without removing the lab."""
        with contextlib.suppress(OSError):
            self._stdin.write(b"release\n")
            self._stdin.close()
        self._process.wait()
        self._stdout.close()
