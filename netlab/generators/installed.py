"""Find an external tool on a host: program file and version."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace

from netlab import wings
from netlab.errors import HostError, NetlabError
from netlab.generators.tools import TOOLS, Tool
from netlab.hosts import vrf as vrfs
from netlab.hosts.host import FACTS_S, Host

MAX_VERSION = 120
VERSION_S = 15

NOT_IN_VRF = "! "
"""Begins what the script prints where it can start no program in the VRF."""

# Print the program file and its version output, with a timeout, started as its runs are.
SCRIPT = vrfs.SCRIPT
SCRIPT += rf"""
PATH=$PATH:/usr/local/bin:/usr/sbin:/sbin LC_ALL=C
export PATH LC_ALL
program=$(command -v "$1") || exit 0
limit=$2 vrf=$3
shift 3
set -- "$program" "$@"
if [ -n "$vrf" ]; then
  ip=$(vrf_ip)
  if [ -z "$ip" ]; then
    echo '{NOT_IN_VRF}no `ip` of this host has that command; install iproute2'
    exit
  fi
  refused=$("$ip" vrf exec "$vrf" true 2>&1) || {{ echo "{NOT_IN_VRF}$refused"; exit; }}
  set -- "$ip" vrf exec "$vrf" "$@"
fi
printf '%s\n' "$program"
cd "${{TMPDIR:-/tmp}}" && timeout -k 1 "$limit" "$@" 2>&1 </dev/null | head -c 4096
"""


def tool_named(name: str) -> Tool:
    """A tool, with the program that its environment variable names."""
    tool = {tool.name: tool for tool in TOOLS}.get(name)
    if tool is None:
        target = wings.generators()[name]
        tool = wings.load(target)
        if not isinstance(tool, Tool) or tool.name != name:
            text = f"{target} is not a netlab.generators.Tool of the name {name}; mend its wing"
            raise NetlabError(text, code="E-TOOL-060")
    return replace(tool, program=os.environ.get(tool.variable) or tool.program)


def found_on(host: Host, tool: Tool, vrf: str = "") -> tuple[str, str] | None:
    argv = ("sh", "-c", SCRIPT, "version", tool.program, str(VERSION_S), vrf, *tool.version)
    program, *lines = host.run(
        argv, sudo=bool(vrf), timeout_s=FACTS_S
    ).stdout.strip().splitlines() or [""]
    if program.startswith(NOT_IN_VRF):
        command = shlex.join(vrfs.called(vrf, (tool.program,)))
        reason = " ".join((program.removeprefix(NOT_IN_VRF), *lines))
        message = f"{tool.name} is started by `{command}`, as {vrf} is a VRF: {reason}"
        raise HostError(host.name, message, code="E-TOOL-080")
    if not program:
        return None
    said = next((line.strip() for line in lines if line.strip()), "")[:MAX_VERSION]
    if not re.fullmatch(tool.version_of, said):
        what = f"printed {said!r}" if said else "printed nothing"
        message = f"{program} is not {tool.name}: its version option {what}; {tool.source}"
        raise HostError(host.name, message, code="E-TOOL-007")
    return program, said


def versions(host: Host, names: Iterable[str], vrf: str = "") -> dict[str, str | None]:
    found = {name: found_on(host, tool_named(name), vrf) for name in names}
    return {name: None if there is None else there[1] for name, there in found.items()}


def missing(name: str) -> str:
    return f"{name} is not installed; {tool_named(name).source}"


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
