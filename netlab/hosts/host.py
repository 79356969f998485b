"""Interface of a host: run commands, start long-lived processes, copy files."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from netlab.errors import HostError
from netlab.hosts import facts
from netlab.hosts.lines import LineProcess, Pipe

MAX_OUTPUT_BYTES = 16 << 20


@dataclass(frozen=True)
class Completed:
    """Result of a command: argv, output and exit status."""

    argv: tuple[str, ...]
    stdout: str
    stderr: str
    exit_status: int


class Host(ABC):
    """A machine that runs commands.

    A host is a context manager: the connection lasts while it is open. Every failure is a
    :class:`~netlab.errors.HostError` that names the host.
    """

    def __init__(self, name: str):
        self.name = name

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @abstractmethod
    def open(self) -> None:
        """Connect to the host; do nothing if it is connected."""

    @abstractmethod
    def close(self) -> None:
        """Disconnect from the host; do nothing if it is not connected."""

    @abstractmethod
    def put(self, local: Path, remote: str, mode: int) -> None:
        """Copy a local file to the path `remote` with the permissions `mode`."""

    @abstractmethod
    def read_bytes(self, remote: str) -> bytes:
        """Return the whole content of a file on the host."""

    @abstractmethod
    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        """Start argv without a shell's expansion and return its streams."""

    @cached_property
    def is_root(self) -> bool:
        """True if commands run as the superuser."""
        return self.run(("id", "-u")).stdout.strip() == "0"

    @cached_property
    def can_sudo(self) -> bool:
        """True if ``sudo -n`` works: for the superuser, and where sudo asks for no password."""
        if self.is_root:
            return True
        return self.run(("sudo", "-n", "--", "true"), check=False).exit_status == 0

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 20.0,
        check: bool = True,
        input: bytes | None = None,
        sudo: bool = False,
    ) -> Completed:
        """Run a command to its end."""
        command = self._checked(argv)
        deadline = time.monotonic() + timeout_s
        pipe = self._spawn(self._privileged(command) if sudo else command)
        try:
            stdout = self._communicate(pipe, command, input, deadline, timeout_s)
            status = pipe.exit_status(max(0.0, deadline - time.monotonic()))
            stderr = pipe.stderr_text()
            lost = pipe.lost()
        finally:
            pipe.kill()
        if lost:
            raise HostError(
                self.name, lost, command=shown(command), output=stderr, code="E-HOST-001"
            )
        if status is None:
            raise self._timed_out(command, timeout_s, stderr)
        if check and status != 0:
            raise HostError(
                self.name,
                "the command failed" if status > 0 else "the command was ended by a signal",
                command=shown(command),
                exit_status=status,
                output=stderr or stdout,
                code="E-HOST-002",
            )
        return Completed(command, stdout, stderr, status)

    def start(self, argv: Sequence[str], *, sudo: bool = False) -> LineProcess:
        """Start a long-lived process that reads and writes lines."""
        command = self._checked(argv)
        pipe = self._spawn(self._privileged(command) if sudo else command)
        return LineProcess(pipe, host=self.name, argv=command)

    def facts(self, interface: str | None = None) -> dict[str, str | int | bool | None]:
        """Read facts of the host and of one interface; see :func:`netlab.hosts.facts.parse`."""
        return facts.parse(self.run(facts.argv(interface)).stdout, interface)

    def _checked(self, argv: Sequence[str]) -> tuple[str, ...]:
        if isinstance(argv, str) or not argv or not argv[0]:
            raise ValueError("argv is a program followed by its arguments")
        if any("\0" in word for word in argv):
            raise ValueError("no argument can hold a NUL")
        return tuple(argv)

    def _privileged(self, command: tuple[str, ...]) -> tuple[str, ...]:
        if self.is_root:
            return command
        if not self.can_sudo:
            raise HostError(
                self.name,
                "the command needs root, and sudo would ask for a password; log in as root or "
                "allow this user NOPASSWD in sudoers",
                command=shown(command),
                code="E-HOST-003",
            )
        return ("sudo", "-n", "--", *command)

    def _timed_out(self, command: tuple[str, ...], timeout_s: float, stderr: str) -> HostError:
        return HostError(
            self.name,
            f"did not end within {timeout_s:g} s",
            command=shown(command),
            output=stderr,
            code="E-HOST-004",
        )

    def _communicate(
        self,
        pipe: Pipe,
        command: tuple[str, ...],
        given: bytes | None,
        deadline: float,
        timeout_s: float,
    ) -> str:
        if given is None:
            pipe.close_input()
        else:
            # in a thread: a command may fill its output pipe before it has read all input
            threading.Thread(target=_feed, args=(pipe, given), daemon=True).start()
        chunks: list[bytes] = []
        size = 0
        while True:
            try:
                chunk = pipe.read(65536, max(0.001, deadline - time.monotonic()))
            except TimeoutError:
                raise self._timed_out(command, timeout_s, pipe.stderr_text()) from None
            if not chunk:
                return b"".join(chunks).decode("utf-8", "surrogateescape")
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_OUTPUT_BYTES:
                raise HostError(
                    self.name,
                    f"printed over {MAX_OUTPUT_BYTES >> 20} MiB",
                    command=shown(command),
                    code="E-HOST-005",
                )


def shown(argv: Sequence[str]) -> tuple[str, ...]:
    """Format an argv for a message; a script among the words becomes ``SCRIPT``."""
    return tuple("SCRIPT" if "\n" in word else word for word in argv)


def _feed(pipe: Pipe, given: bytes) -> None:
    # a command may end without reading its input; its exit status tells
    try:
        pipe.write(given)
        pipe.close_input()
    except (OSError, ValueError):
        return
