"""Find the external tools installed on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass

from netlab.errors import BadInput
from netlab.generators.tools import TOOLS, Tool

VERSION_TIMEOUT_S = 5.0


@dataclass(frozen=True)
class Installed:
    """An installed tool: its program file and its version line."""

    tool: Tool
    program: str
    version: str


def find_tools(
    wanted: tuple[str, ...] = (), environment: Mapping[str, str] | None = None
) -> tuple[Installed, ...]:
    """Tools of `TOOLS` that are on PATH or named by their variables."""
    environment = os.environ if environment is None else environment
    names = [tool.name for tool in TOOLS]
    for name in wanted:
        if name not in names:
            raise BadInput(
                f"there are {', '.join(names)}", key="peer", value=name, code="E-BENCH-002"
            )
    found = []
    for tool in TOOLS:
        if wanted and tool.name not in wanted:
            continue
        given = environment.get(tool.variable)
        program = shutil.which(given or tool.program, path=environment.get("PATH"))
        if program is not None:
            found.append(Installed(tool, os.path.abspath(program), _version(tool, program)))
        elif given:
            raise BadInput("is not a program", where=tool.variable, value=given, code="E-BENCH-003")
        elif wanted:
            raise BadInput(
                f"{tool.program} is not on PATH, and {tool.variable} does not name it",
                key="peer",
                value=tool.name,
                code="E-BENCH-004",
            )
    return tuple(found)


def _version(tool: Tool, program: str) -> str:
    """The first line of a tool's version output."""
    try:
        # neper writes a log file to its working directory.
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(
                (os.path.abspath(program), *tool.version),
                cwd=directory,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_TIMEOUT_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadInput(
            f"its version option failed: {error}", where=program, code="E-BENCH-005"
        ) from None
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip()[:120] if lines else "unknown"
