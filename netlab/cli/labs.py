"""``netlab lab``: the lab of network namespaces that comes with netlab."""

from __future__ import annotations

import os

import click

from netlab.errors import NetlabError
from netlab.lab import task_group
from netlab.lab.lab import Lab, down, find, labs
from netlab.lab.reaper import SEARCH_PATH
from netlab.study import Study


def up(study: Study) -> None:
    click.echo(_shown(find(study) or Lab.up(study)))


def remove(lab_id: str | None) -> None:
    removed = down(lab_id)
    click.echo(f"removed: {', '.join(removed)}" if removed else "no lab is up")


def status() -> None:
    click.echo("\n".join(map(_shown, labs())) or "no lab is up")


def shell(host: str, argv: tuple[str, ...]) -> None:
    known: list[str] = []
    for there in labs():
        if host in there.hosts:
            program = argv or (os.environ.get("SHELL", "/bin/sh"),)
            words = there.inside(host, program)
            os.execvpe(words[0], words, {**os.environ, "PATH": SEARCH_PATH})
        known += there.hosts
    hosts = f"the labs have {', '.join(known)}" if known else "no lab is up; `netlab lab up`"
    raise NetlabError(f"no lab that is up has a host called {host!r}: {hosts}", code="E-CLI-008")


def _shown(lab: Lab) -> str:
    if lab.foreign:
        return f"lab {lab.id}: made by root"
    status = lab.status()
    whole = "complete" if status["complete"] else "NOT complete"
    owner = f", owned by process {status['owner_pid']}" if status["owner_pid"] else ""
    where = ", in a user namespace" if lab.user_namespace else ""
    lines = [
        f"lab {status['id']}: study {status['study']}, {whole}{where}{owner}",
        f"  processes: {task_group.IN_WORDS[status['task_group']]}",
    ]
    for kind in ("host", "switch of path"):
        for name, place in status["hosts" if kind == "host" else "switches"].items():
            up = "up" if place["up"] else "gone"
            lines.append(f"  {kind} {name}: {up}, namespace {place['namespace']}")
    for name, path in status["paths"].items():
        first, second, *also = (
            f"{end['host']} {end['interface']} {' '.join(end['addresses'])}" for end in path["ends"]
        )
        ends = " -- ".join([", ".join([first, *also]), *["switch"] * bool(also), second])
        rate = f", {path['rate_bps'] / 1e6:.0f} Mb/s of frames" if path["rate_bps"] else ""
        emulated = f", emulated with {path['emulated_with']}" if path["emulated_with"] else ""
        lines.append(f"  path {name}: {ends}{rate}{emulated}")
    return "\n".join(lines)
