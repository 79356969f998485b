"""Interface of a host: commands, long-lived processes, and files."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from netlab.errors import HostError
from netlab.files.recorded_facts import HostFacts
from netlab.hosts.host_facts import facts_argv, parsed_facts
from netlab.hosts.line_process import LineProcess, Pipe, shown

MAX_OUTPUT_BYTES = 16 << 20
FACTS_S = 60.0
"""Timeout of some fifty short programs; a host that is lost is found before, by its silence."""
COPY_TIMEOUT_S = 60.0
NOT_FOUND = 127
"""Exit status of a shell or of env for a program that is not there."""

NO_SUDO = "sudo is not there"
_ASKS = re.compile("password is required|askpass")
# Arguments: file, mode, timeout in s. sshd does not notice for hours that a host was cut off.
PUT = r"""
umask 077
t=$(command -v timeout)
${t:+"$t" "$3"} cat >"$1" && chmod "$2" "$1"
"""


@dataclass(frozen=True)
class Completed:
    argv: tuple[str, ...]
    stdout: str
    stderr: str
    exit_status: int


class Host(ABC):
    """A machine that runs commands while it is open; every failure is a HostError with its name."""

    agent_directory = ""
    """Directory for the agent that the study names."""

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

    def put(self, local: Path, remote: str, mode: int) -> None:
        argv = ("sh", "-c", PUT, "put", remote, f"{mode:o}", f"{COPY_TIMEOUT_S:.0f}")
        self.run(argv, input=local.read_bytes(), timeout_s=COPY_TIMEOUT_S)

    def read_bytes(self, remote: str) -> bytes:
        text = self.run(("cat", "--", remote), timeout_s=COPY_TIMEOUT_S).stdout
        return text.encode("utf-8", "surrogateescape")

    @abstractmethod
    def _spawn(self, argv: tuple[str, ...]) -> Pipe:
        """Start argv without a shell's expansion and return its streams."""

    @cached_property
    def is_root(self) -> bool:
        return self.run(("id", "-u")).stdout.strip() == "0"

    @cached_property
    def can_sudo(self) -> bool:
        """True if ``sudo -n`` works: for the superuser, and where sudo asks for no password."""
        return self.is_root or not self._sudo_refusal

    @cached_property
    def _sudo_refusal(self) -> str:
        # what sudo prints depends on the locale of the host
        argv = ("env", "LC_ALL=C", "sudo", "-n", "--", "true")
        done = self.run(argv, check=False)
        if done.exit_status == NOT_FOUND:
            return NO_SUDO
        return "" if done.exit_status == 0 else done.stderr.strip() or "sudo failed"

    @property
    def sudo_fault(self) -> str:
        """Why ``sudo -n`` does not work and what helps, for a sentence; empty where it does."""
        refusal = self._sudo_refusal
        if not refusal or self.is_root:
            return ""
        if refusal == NO_SUDO:
            return "sudo is not installed; log in as root, or install sudo"
        if "tty" in refusal:
            return (
                "sudo wants a terminal; log in as root or take `requiretty` out of sudoers for "
                "this user (`Defaults:USER !requiretty`)"
            )
        fault = "would ask for a password" if _ASKS.search(refusal) else "refuses"
        return f"sudo {fault}; log in as root or allow this user NOPASSWD in sudoers"

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float = 20.0,
        check: bool = True,
        input: bytes | None = None,
        sudo: bool = False,
    ) -> Completed:
        command = self._checked(argv)
        deadline = time.monotonic() + timeout_s
        pipe = self._spawn(self._privileged(command) if sudo else command)
        try:
            if input is None:
                pipe.close_input()
            else:
                # in a thread: a command may fill its output pipe before it has read all input
                threading.Thread(target=_feed, args=(pipe, input), daemon=True).start()
            stdout = self._communicate(pipe, command, deadline, timeout_s)
            status = pipe.exit_status(max(0.0, deadline - time.monotonic()))
            stderr = pipe.stderr_text()
            lost = pipe.lost()
        finally:
            pipe.kill()
        if lost:
            raise self._error(command, lost, output=stderr, code="E-HOST-001")
        if status is None:
            raise self._timed_out(pipe, command, timeout_s)
        if check and status != 0:
            what = "the command failed" if status > 0 else "the command was ended by a signal"
            output = stderr or stdout
            raise self._error(command, what, exit_status=status, output=output, code="E-HOST-002")
        return Completed(command, stdout, stderr, status)

    def start(self, argv: Sequence[str], *, sudo: bool = False) -> LineProcess:
        command = self._checked(argv)
        pipe = self._spawn(self._privileged(command) if sudo else command)
        return LineProcess(pipe, host=self.name, argv=command)

    def facts(self, interface: str | None = None) -> HostFacts:
        argv = facts_argv(interface)
        return parsed_facts(self.run(argv, timeout_s=FACTS_S).stdout, interface)

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
            is_said = self._sudo_refusal == NO_SUDO or _ASKS.search(self._sudo_refusal)
            output = "" if is_said else self._sudo_refusal
            message = f"the command needs root, and {self.sudo_fault}"
            raise self._error(command, message, output=output, code="E-HOST-003")
        return ("sudo", "-n", "--", *command)

    def _error(self, argv: tuple[str, ...], what: str, *, code: str, **more: Any) -> HostError:
        return HostError(self.name, what, command=shown(argv), code=code, **more)

    def _timed_out(self, pipe: Pipe, command: tuple[str, ...], timeout_s: float) -> HostError:
        what = f"did not end within {timeout_s:g} s"
        return self._error(command, what, output=pipe.stderr_text(), code="E-HOST-004")

    def _communicate(
        self, pipe: Pipe, command: tuple[str, ...], deadline: float, timeout_s: float
    ) -> str:
        output = bytearray()
        while True:
            try:
                chunk = pipe.read(65536, max(0.001, deadline - time.monotonic()))
            except TimeoutError:
                raise self._timed_out(pipe, command, timeout_s) from None
            if not chunk:
                return output.decode("utf-8", "surrogateescape")
            output += chunk
            if len(output) > MAX_OUTPUT_BYTES:
                message = f"printed over {MAX_OUTPUT_BYTES >> 20} MiB"
                raise self._error(command, message, code="E-HOST-005")


def _feed(pipe: Pipe, given: bytes) -> None:
    # a command may end without reading its input; its exit status tells
    with contextlib.suppress(OSError, ValueError):
        pipe.write(given)
        pipe.close_input()
