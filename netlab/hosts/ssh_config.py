"""Names of hosts in an SSH configuration, and what it says of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import paramiko

from netlab.errors import BadInput

_HOST = re.compile(r"\s*host[\s=]+(?P<names>.*)", re.IGNORECASE)


@dataclass(frozen=True)
class SshAlias:
    """A host of an SSH configuration."""

    line: int
    hostname: str
    user: str | None
    port: int | None
    identity_file: str | None
    needs_proxy: bool


def aliases(path: Path) -> dict[str, SshAlias]:
    """Hosts that an SSH configuration names, in its order; patterns are left out."""
    try:
        text = path.expanduser().read_text(encoding="utf-8")
        config = paramiko.SSHConfig.from_text(text)
    except OSError as error:
        raise BadInput(
            f"cannot be read: {error.strerror}", where=str(path), code="E-HOST-040"
        ) from None
    except (paramiko.ConfigParseError, UnicodeDecodeError, ValueError) as error:
        raise BadInput(
            f"is not an SSH configuration: {error}", where=str(path), code="E-HOST-041"
        ) from None
    found: dict[str, SshAlias] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HOST.fullmatch(line)
        for name in match["names"].replace('"', " ").split() if match else ():
            if not set(name) & set("*?!") and name not in found:
                found[name] = _alias(config.lookup(name), number)
    return found


def _alias(said: dict, line: int) -> SshAlias:
    keys = said.get("identityfile") or [None]
    return SshAlias(
        line=line,
        hostname=said["hostname"],
        user=said.get("user"),
        port=int(said["port"]) if "port" in said else None,
        identity_file=keys[0],
        needs_proxy="proxycommand" in said or "proxyjump" in said,
    )
