"""The lease of a host: the one controller that it serves, by a number that only grows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath

from netlab.errors import HostError
from netlab.hosts.line_process import LineProcess


class LeaseRefused(HostError):
    """A host has granted a later lease, or cannot record one."""


@dataclass(frozen=True)
class HostLease:
    controller: str
    number: int

    def take(self, agent: LineProcess, binary: str, timeout_s: float) -> None:
        """Ask the agent of a host, which has the host's lock, to record this lease."""
        directory = str(PurePosixPath(binary).parent)
        agent.send("lease", controller=self.controller, number=self.number, directory=directory)
        answer = agent.receive(timeout_s)
        if answer.get("event") != "lease":
            message = f"{answer.get('message')} ({answer.get('code')})"
            raise LeaseRefused(agent.host, message, code="E-HOST-042")
