"""Client of a long-lived process: request lines of words out, answer lines of JSON in.

One thread sends an empty line to every process that ends without them.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol
from urllib.parse import quote

from netlab.errors import HostError
from netlab.files.answers import checked
from netlab.files.bounded_json import parse_json

PULSE_S = 5.0
"""Interval of the empty lines."""

SILENCE_S = 30
"""A remote process ends after this time without input, s; its tuning is reverted before."""


class Pulse:
    """Sends pulses to its members from one thread, which runs while there are members."""

    def __init__(self, interval_s: float = PULSE_S, *, sleep: Callable[[float], None] = time.sleep):
        self._interval_s, self._sleep = interval_s, sleep
        self._lock = threading.Lock()
        self._members: weakref.WeakSet[LineProcess] = weakref.WeakSet()
        self._running = False

    def add(self, process: LineProcess) -> None:
        with self._lock:
            self._members.add(process)
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._beat, name="netlab-pulse", daemon=True).start()

    def remove(self, process: LineProcess) -> None:
        with self._lock:
            self._members.discard(process)

    def _beat(self) -> None:
        while True:
            self._sleep(self._interval_s)
            with self._lock:
                members = list(self._members)
                self._running = bool(members)
            if not members:
                return
            for process in members:
                process.pulse()


PULSE = Pulse()
"""The thread of this process."""


WORD = re.compile(r"^[a-z][a-z0-9_]*(B|Bps)?$")
MAX_REQUEST_BYTES = 4096
MAX_ANSWER_BYTES = 64 << 20
STDERR_KEPT_BYTES = 1 << 20
CANNOT_EXECUTE = (126, 127)
"""Exit statuses of a shell that cannot execute a program, or does not find it."""


class Pipe(Protocol):
    """The three streams of a running process, wherever it runs."""

    def write(self, data: bytes) -> None:
        """Write all of data to standard input; OSError when the reader is gone."""

    def close_input(self) -> None:
        """Close standard input: the process sees end of file."""

    def read(self, size: int, timeout_s: float) -> bytes:
        """Up to size bytes of standard output; empty at its end; TimeoutError."""

    def stderr_text(self) -> str:
        """Return the last MiB of standard error so far."""

    def exit_status(self, timeout_s: float) -> int | None:
        """Exit status, negative if a signal ended it; None while it runs."""

    def lost(self) -> str:
        """Reason why the process is unreachable; empty while it is reachable."""

    def kill(self) -> None:
        """Release the process at once; a local process is killed."""


class Reply(dict):
    """An answer of a host; it lacks the keys that only another program's of its name has."""

    def __init__(self, content: dict, *, host: str):
        super().__init__(content)
        self._host = host

    def __missing__(self, key: str) -> NoReturn:
        answer = self.get("event")
        raise HostError(self._host, f"its answer {answer} lacks {key}", code="E-HOST-046")


class LineProcess:
    """A process that takes request lines and answers JSON lines, as native/PROTOCOL.md says."""

    def __init__(
        self,
        pipe: Pipe,
        *,
        host: str,
        argv: tuple[str, ...],
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ):
        self.host, self.argv, self._pipe = host, argv, pipe
        self._max_answer_bytes = max_answer_bytes
        self._received = bytearray()
        self._searched = 0
        self._exit_status: int | None = None
        self._closed = False
        self._writing = threading.Lock()

    def __enter__(self) -> LineProcess:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def send(self, verb: str, **words: str | int | float | bool) -> None:
        self._write(request_line(verb, words))

    def send_line(self, line: str) -> None:
        """Send one request that is a whole line already, without its newline."""
        data = line.encode("ascii") + b"\n"
        if data.count(b"\n") != 1 or len(data) > MAX_REQUEST_BYTES:
            raise ValueError(f"not one request line: {line[:60]!r}")
        self._write(data)

    def keep_alive(self) -> LineProcess:
        """Send an empty line from time to time until the process is closed; see `pulse`."""
        PULSE.add(self)
        return self

    def pulse(self) -> None:
        """Send an empty line: a process started with ``--silence-s`` ends without input."""
        with contextlib.suppress(OSError, EOFError, ValueError), self._writing:
            self._pipe.write(b"\n")

    def _write(self, line: bytes) -> None:
        try:
            with self._writing:
                self._pipe.write(line)
        except (OSError, EOFError, ValueError):
            verb = line.split(b" ", 1)[0].decode("ascii").strip()
            self._fail_gone(f"accepted no more requests ({verb})", code="E-HOST-006")

    def receive(self, timeout_s: float) -> dict:
        answer = self.poll(timeout_s)
        if answer is None:
            self._fail(f"sent no answer for {timeout_s:g} s", code="E-HOST-007")
        return answer

    def poll(self, timeout_s: float) -> dict | None:
        deadline = time.monotonic() + timeout_s
        while True:
            end = self._received.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._received[:end])
                del self._received[: end + 1]
                self._searched = 0
                return self._parsed(line)
            self._searched = len(self._received)
            if self._searched > self._max_answer_bytes:
                self._fail(f"sent a line of over {self._max_answer_bytes} bytes", code="E-HOST-008")
            try:
                chunk = self._pipe.read(1 << 18, max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                return None
            if not chunk:
                ended = "ended in the middle of a line" if self._received else "ended"
                self._fail_gone(ended, code="E-HOST-009")
            self._received += chunk

    def close(self, timeout_s: float = 5.0) -> int | None:
        """Close the input of the process, wait for its end and release its streams."""
        if self._closed:
            return self._exit_status
        self._closed = True
        PULSE.remove(self)
        try:
            self._pipe.close_input()
            deadline = time.monotonic() + timeout_s
            # read the rest of its output, or it could block on a full pipe
            while self._pipe.read(1 << 18, max(0.0, deadline - time.monotonic())):
                pass
            self._exit_status = self._pipe.exit_status(max(0.0, deadline - time.monotonic()))
        except (OSError, EOFError, ValueError):
            self._exit_status = None
        finally:
            self._pipe.kill()
        return self._exit_status

    def stderr_text(self) -> str:
        return self._pipe.stderr_text()

    def _parsed(self, line: bytes) -> dict:
        try:
            content = parse_json(line)
        except ValueError:
            self._fail(f"sent a line that is not an answer: {line[:120]!r}", code="E-HOST-010")
        try:
            return Reply(checked(content), host=self.host)
        except ValueError as fault:
            self._fail(f"sent an answer that breaks its protocol: {fault}", code="E-HOST-070")

    def _fail(self, what: str, exit_status: int | None = None, *, code: str) -> NoReturn:
        message, output = f"{os.path.basename(self.argv[0])} {what}", self._pipe.stderr_text()
        more: dict[str, Any] = {"command": shown(self.argv), "exit_status": exit_status}
        raise HostError(self.host, message, output=output, code=code, **more)

    def _fail_gone(self, what: str, *, code: str) -> NoReturn:
        status = self._pipe.exit_status(1.0)
        if lost := self._pipe.lost():
            output = self._pipe.stderr_text()
            more: dict[str, Any] = {"command": shown(self.argv), "output": output}
            raise HostError(self.host, lost, code="E-HOST-011", **more) from None
        if status in CANNOT_EXECUTE:
            what = (
                "cannot be executed on this host: it was built for another machine, or its file "
                "system forbids programs"
            )
        self._fail(what, status, code=code)


def request_line(verb: str, words: dict[str, str | int | float | bool]) -> bytes:
    if not WORD.fullmatch(verb):
        raise ValueError(f"{verb!r} is not a verb")
    parts = [verb]
    for key, value in words.items():
        if not WORD.fullmatch(key):
            raise ValueError(f"{key!r} is not a key")
        if isinstance(value, bool):
            value = int(value)
        if not isinstance(value, str | int | float):
            raise ValueError(f"{key}: {value!r} is neither text nor a number")
        parts.append(f"{key}={quote(str(value), safe='-._~:/,', errors='surrogateescape')}")
    line = (" ".join(parts) + "\n").encode("ascii")
    if len(line) > MAX_REQUEST_BYTES:
        raise ValueError(f"{verb}: the request is over {MAX_REQUEST_BYTES} bytes")
    return line


def shown(argv: Sequence[str]) -> tuple[str, ...]:
    """Format an argv for a message; a script among the words becomes ``SCRIPT``."""
    return tuple("SCRIPT" if "\n" in word else word for word in argv)
