"""Find an external tool on a host: program file and version."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from netlab.errors import HostError
from netlab.generators.tools import TOOLS, Tool
from netlab.hosts.host import Host

MAX_VERSION = 120
VERSION_S = 5

# Print the program file and its version output, with a timeout.
SCRIPT = r"""
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
program=$(command -v "$1") || exit 0
limit=$2
shift 2
printf '%s\n' "$program"
cd "${TMPDIR:-/tmp}" && timeout -k 1 "$limit" "$program" "$@" 2>&1 </dev/null | head -c 4096
"""


def tool_named(name: str) -> Tool:
    """The description of an external generator; KeyError for another name."""
    found = {tool.name: tool for tool in TOOLS if tool.in_study is not None}
    return found[name]


def found_on(host: Host, tool: Tool) -> tuple[str, str] | None:
    """Program file and version of a tool on a host; None when it is not installed."""
    argv = ("sh", "-c", SCRIPT, "version", tool.program, str(VERSION_S), *tool.version)
    program, *lines = host.run(argv).stdout.strip().splitlines() or [""]
    if not program:
        return None
    said = next((line.strip() for line in lines if line.strip()), "")[:MAX_VERSION]
    if not re.fullmatch(tool.reporting.version_of, said):
        what = f"printed {said!r}" if said else "printed nothing"
        raise HostError(
            host.name,
            f"{program} is not {tool.name}: its version option {what}; "
            f"install Debian's package {tool.reporting.package}",
            code="E-TOOL-007",
        )
    return program, said


def versions(host: Host, names: Iterable[str]) -> dict[str, str | None]:
    """Version of each generator on a host, None where it is not installed."""
    found = {name: found_on(host, tool_named(name)) for name in names}
    return {name: None if there is None else there[1] for name, there in found.items()}


def missing(name: str) -> str:
    """The message for a host without a generator."""
    package = tool_named(name).reporting.package
    return f"{name} is not installed; Debian's package of it is {package}"


def require(used: Iterable[str], found: Mapping[str, Mapping[str, str | None]]) -> None:
    """Refuse runs whose tools are not installed, before anything is changed."""
    for name in sorted(set(used) & set(found)):
        for host, version in found[name].items():
            if version is None:
                raise HostError(host, missing(name), code="E-TOOL-008")


def version_text(found: Mapping[str, str | None] | None) -> str | None:
    """The version of a tool for a record: of both hosts if they differ."""
    if found is None:
        return None
    said = {str(version) for version in found.values()}
    return said.pop() if len(said) == 1 else ", ".join(f"{h}: {v}" for h, v in found.items())
