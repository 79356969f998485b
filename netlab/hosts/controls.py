"""The control sockets of this process, and what ends its masters when it is killed."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import tempfile
import threading
from pathlib import Path

from netlab.errors import BadInput

SOCKET_PATH_BYTES = 80
"""Of the 108 that the kernel allows ssh needs 17 for a temporary name."""


# Argument: the directory. Its standard input ends with the controller.
REAP = r"""
while read -r _; do :; done
for f in "$1"/*.pid; do
  [ -e "$f" ] && kill "$(cat "$f")" 2>/dev/null
done
rm -rf -- "$1"
"""


class Controls:
    """A private directory, short enough for sockets, that is removed when this process ends."""

    def __init__(self) -> None:
        self._lock, self._owner = threading.Lock(), 0
        self._numbers = itertools.count()

    def path(self) -> Path:
        """Return a new path, to which suffixes are appended."""
        with self._lock:
            if self._owner != os.getpid():
                self._directory, self._owner = _short_directory(), os.getpid()
                self._reaper = subprocess.Popen(
                    ("sh", "-c", REAP, "netlab-ssh", self._directory),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    cwd="/",
                )
            return self._directory / str(next(self._numbers))


CONTROLS = Controls()


def _short_directory() -> Path:
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp", "/var/tmp")
    for place in places:
        # ssh expands % and ${} in a control path
        short = place.startswith("/") and len(os.fsencode(place)) < SOCKET_PATH_BYTES - 32
        if short and not set(place) & set("%${}"):
            with contextlib.suppress(OSError):
                return Path(tempfile.mkdtemp(prefix="netlab-ssh-", dir=place))
    message = f"no directory for SSH connections can be made in {', '.join(filter(None, places))}"
    raise BadInput(message, code="E-HOST-049")
