"""Namespaces of a lab: tools run in them, shielded from Ctrl-C."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from netlab.errors import HostError
from netlab.files.bounded_json import parse_json
from netlab.hosts.line_process import shown
from netlab.lab.reaper import SEARCH_PATH, holders_of, lab_of

TOOL_TIMEOUT_S = 20.0


def shielded(
    argv: Sequence[str], *, input: str = "", busy: int | None = None, search_path: str = SEARCH_PATH
) -> subprocess.CompletedProcess[str]:
    """Run a program; a Ctrl-C at the terminal interrupts netlab, which cleans up, and not it."""
    return subprocess.run(
        tuple(argv),
        input=input,
        capture_output=True,
        text=True,
        timeout=TOOL_TIMEOUT_S,
        env={**os.environ, "PATH": search_path, "LC_ALL": "C"},
        pass_fds=() if busy is None else (busy,),
        process_group=0,
        check=False,
    )


def tool(
    argv: Sequence[str], *, lines: Sequence[str] = (), host: str = "lab", busy: int | None = None
) -> str:
    try:
        done = shielded(argv, input="".join(f"{line}\n" for line in lines), busy=busy)
    except FileNotFoundError:
        message = f"{argv[0]} is not installed"
        raise HostError(host, message, command=shown(argv), code="E-LAB-015") from None
    except subprocess.TimeoutExpired:
        message = f"did not end within {TOOL_TIMEOUT_S:g} s"
        raise HostError(host, message, command=shown(argv), code="E-LAB-016") from None
    if done.returncode != 0:
        raise HostError(
            host,
            "the command failed",
            command=shown(argv),
            exit_status=done.returncode,
            output="\n".join((*lines, done.stderr or done.stdout)),
            code="E-LAB-017",
        )
    return done.stdout


def tool_json(argv: Sequence[str], *, host: str = "lab") -> list[dict]:
    """Run a tool that prints a JSON list; blank output is an empty list."""
    text = tool(argv, host=host)
    return parse_json(text, host, kind=list) if text.strip() else []


def inside(namespace: str, argv: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs `argv` in a network namespace, with the /sys of that namespace."""
    return (*entry(namespace), "ip", "netns", "exec", namespace, *argv)


def ip(namespace: str, *words: str) -> tuple[str, ...]:
    return (*entry(namespace), "ip", "-n", namespace, *words)


def tc(namespace: str, *words: str) -> tuple[str, ...]:
    return (*entry(namespace), "tc", "-n", namespace, *words)


def entry(namespace: str) -> tuple[str, ...]:
    """Command prefix that enters the user namespace that a network namespace belongs to."""
    return _nsenter(lab_of(namespace), 1, "--user", "--mount", "--net")


def as_account(lab_id: str) -> tuple[str, ...]:
    """Command prefix that runs its arguments as the account of a lab, which is listed there."""
    return _nsenter(lab_id, 0, "--user", "--mount")


def _nsenter(lab_id: str, which: int, *kinds: str) -> tuple[str, ...]:
    if os.geteuid() == 0:
        return ()
    holders = holders_of(lab_id)
    if holders is None:
        raise HostError("lab", f"the namespaces of lab {lab_id} are gone", code="E-LAB-030")
    return ("nsenter", "--target", str(holders[which]), *kinds, "--preserve-credentials", "--")
