"""Configuration of an sshd that tests start on a host of their own."""

from __future__ import annotations

import os
import shutil

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
_SHARED = (
    "PermitRootLogin prohibit-password",
    "PasswordAuthentication no",
    "StrictModes no",
    "UsePAM no",
    "UseDNS no",
    "PidFile none",
    "MaxSessions 64",
)


def config_with(*lines: str) -> str:
    """A configuration of these lines and those that every such sshd has."""
    return "".join(f"{line}\n" for line in (*lines, *_SHARED))
