"""Hosts from an SSH configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from netlab.errors import BadInput

USER_CONFIG = Path("~/.ssh/config")


def from_ssh_config(path: Path) -> dict[str, Any]:
    """Hosts that an SSH configuration names, without patterns, as netlab's own file has them.

    Of the user's own configuration they are aliases. Of another file, address, user, port and key
    are taken; a host that needs a proxy must be in the user's own.
    """
    from netlab.fleet.aliases import aliases  # paramiko, which no job needs this early

    resolved = aliases(path)
    if path.expanduser().resolve() == USER_CONFIG.expanduser().resolve():
        return {"hosts": {name: {} for name in resolved}}
    hosts = {}
    for name, settings in resolved.items():
        if settings.needs_proxy:
            text = "needs a proxy, which only ~/.ssh/config can give"
            raise BadInput(text, where=f"{path}:{settings.line}", value=name, code="E-FLEET-018")
        hosts[name] = settings.said
    return {"hosts": hosts}
