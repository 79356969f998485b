"""Names of hosts in an SSH configuration; an inventory of others is data, and runs nothing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import paramiko

from netlab.errors import BadInput, why
from netlab.files.reading import read_text

_HOST = re.compile(r"\s*host[\s=]+(?P<names>.*)", re.IGNORECASE)


@dataclass(frozen=True)
class SshAlias:
    line: int
    said: dict[str, str | int]
    """Address, user, port and key, where they are named."""
    needs_proxy: bool


def aliases(path: Path) -> dict[str, SshAlias]:
    try:
        text = read_text(path.expanduser())
        config = paramiko.SSHConfig.from_text(text)
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise BadInput(message, where=str(path), code="E-FLEET-069") from None
    except (paramiko.ConfigParseError, UnicodeDecodeError, ValueError) as error:
        message = f"is not an SSH configuration: {error}"
        raise BadInput(message, where=str(path), code="E-FLEET-070") from None
    # as paramiko has read them: a pattern would miss a word with quotes inside, such as ex""ec
    kinds = [match["type"] for block in config._config for match in block.get("matches", ())]
    if "exec" in map(str.lower, kinds):
        message = "`Match exec` runs a command, and an inventory is data: take it out"
        raise BadInput(message, where=str(path), code="E-FLEET-068")
    resolved: dict[str, SshAlias] = {}
    blocks_of = _blocks_by_name(config._config)
    for number, line in enumerate(text.splitlines(), start=1):
        match = _HOST.fullmatch(line)
        for name in match["names"].replace('"', " ").split() if match else ():
            if not set(name) & set("*?!") and name not in resolved:
                config._config = blocks_of(name)
                try:
                    resolved[name] = _alias(config.lookup(name), number)
                except (ValueError, KeyError, paramiko.SSHException) as error:
                    at = f"{path}:{number}"
                    message = f"cannot be looked up: {why(error)}"
                    raise BadInput(message, where=at, key=name, code="E-FLEET-071") from None
    return resolved


def _blocks_by_name(blocks: list[dict]) -> Callable[[str], list[dict]]:
    """Select the blocks that can match a name; paramiko tries each pattern: minutes for 10,000."""
    literal: dict[str, dict[int, dict]] = defaultdict(dict)
    others = {}
    # which tries the blocks again with another name
    canonical = any("canonicalizehostname" in block["config"] for block in blocks)
    for at, block in enumerate(blocks):
        patterns = block.get("host", ())
        if canonical or not patterns or set("".join(patterns)) & set("*?!["):
            others[at] = block
        else:
            for name in patterns:
                literal[name][at] = {**block, "host": [name]}
    return lambda name: [block for _, block in sorted((others | literal[name]).items())]


def _alias(said: dict, line: int) -> SshAlias:
    named = {"address": said["hostname"], "user": said.get("user")}
    named |= {"port": int(said["port"])} if "port" in said else {}
    named |= {"identity_file": next(iter(said.get("identityfile", ())), None)}
    named = {key: value for key, value in named.items() if value is not None}
    return SshAlias(line, named, "proxycommand" in said or "proxyjump" in said)
