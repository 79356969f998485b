"""Hosts from an Ansible inventory, as `ansible-inventory` reads it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from netlab.errors import BadInput, NetlabError
from netlab.files.bounded_json import parse_json
from netlab.files.writing import write_text

SSH = {
    "ansible_host": "address",
    "ansible_user": "user",
    "ansible_port": "port",
    "ansible_ssh_private_key_file": "identity_file",
    "netlab_address": "data_address",
    "netlab_interface": "interface",
}
"""Variables that netlab takes, and its own keys for them; scalars of other names are labels."""

EVERY = ("all", "ungrouped")
"""Groups that every inventory has."""

READ_S = 60.0

SETTINGS = {
    **dict.fromkeys(("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "ANSIBLE_NOCOLOR"), "true"),
    "PYTHONSAFEPATH": "1",
}


def from_ansible(path: Path, plugin: Literal["yaml", "ini"]) -> dict[str, Any]:
    if importlib.util.find_spec("ansible") is None:
        raise NetlabError(
            "an Ansible inventory needs ansible-core, which is not installed: "
            "pip install 'netlab[fleet]', or `uv sync --extra fleet` in a checkout",
            code="E-FLEET-005",
        )
    argv = (sys.executable, "-m", "ansible.cli.inventory", "--list", "--inventory", str(path))
    try:
        with TemporaryDirectory(prefix="netlab-ansible-") as home:
            # without a file of settings of its own it obeys the one in the working directory
            settings = write_text(Path(home) / "ansible.cfg", "")
            done = subprocess.run(
                argv,
                env={
                    **os.environ,
                    **SETTINGS,
                    "ANSIBLE_CONFIG": str(settings),
                    "ANSIBLE_HOME": home,
                    # any other plugin would run an executable inventory
                    "ANSIBLE_INVENTORY_ENABLED": plugin,
                },
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=READ_S,
                check=True,
            )
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", None) or str(error)
        text = f"is not an Ansible inventory: {' '.join(reason.split())[:500]}"
        raise BadInput(text, where=str(path), code="E-FLEET-006") from None
    groups = parse_json(done.stdout, str(path))
    variables = groups.pop("_meta")["hostvars"]
    members: dict[str, dict[str, None]] = {}

    def walk(name: str) -> dict[str, None]:
        """Hosts of a group and of those below it; each group before those in it."""
        members[name] = {}
        names = dict.fromkeys(groups.get(name, {}).get("hosts", ()))
        for child in groups.get(name, {}).get("children", ()):
            names |= walk(child)
        members[name] = names
        return names

    return {
        "hosts": {
            host: _host(path, host, variables.get(host, {}))
            | {"groups": [n for n, some in members.items() if host in some and n not in EVERY]}
            for host in walk("all")
        }
    }


def _host(path: Path, host: str, variables: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {"labels": {}}
    for key, value in variables.items():
        if isinstance(value, str) and "{{" in value and key in SSH:
            text = f"{host}: {key}: templates are not evaluated"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-007")
        if key == "ansible_connection" and value not in ("ssh", "smart", "paramiko"):
            text = f"{host}: netlab reaches hosts over SSH only"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-008")
        if key == "ansible_port" and not str(value).isdecimal():
            text = f"{host}: ansible_port: expected a number"
            raise BadInput(text, where=str(path), value=value, code="E-FLEET-009")
        if key in SSH:
            fields[SSH[key]] = int(value) if key == "ansible_port" else str(value)
        elif isinstance(value, str | int | float) and not key.startswith("ansible_"):
            fields["labels"][key] = str(value)
    return fields
