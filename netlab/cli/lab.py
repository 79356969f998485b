"""``netlab lab``: the lab of network namespaces that comes with netlab."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.validation import load_study
from netlab.errors import NetlabError

if TYPE_CHECKING:
    from netlab.lab.lab import Lab


@click.group("lab")
def lab_group() -> None:
    """Make, show and remove labs of network namespaces.

    Without root a lab is made in a user namespace, and is the user's own.
    """


@lab_group.command("up")
@click.argument("study", default="openlab-2003")
@guarded
def up_command(study: str) -> None:
    """Make the hosts and links of STUDY; they stay until `netlab lab down`."""
    loaded = load_study(study)
    from netlab.lab.lab import Lab, find

    click.echo(_shown(find(loaded) or Lab.up(loaded)))


@lab_group.command("down")
@click.argument("lab_id", required=False)
@guarded
def down_command(lab_id: str | None) -> None:
    """Remove the lab LAB_ID, or all that no running netlab owns."""
    from netlab.lab.lab import down

    removed = down(lab_id)
    click.echo(f"removed: {', '.join(removed)}" if removed else "no lab is up")


@lab_group.command("status")
@guarded
def status_command() -> None:
    """List what the labs of this machine consist of."""
    from netlab.lab.lab import labs

    click.echo("\n".join(map(_shown, labs())) or "no lab is up")


@lab_group.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("argv", nargs=-1)
@guarded
def shell_command(host: str, argv: tuple[str, ...]) -> None:
    """Run a command, or a shell, on HOST of the lab that is up."""
    from netlab.lab.lab import labs
    from netlab.lab.reaper import SEARCH_PATH

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
    """Parts of a lab and its completeness, as lines."""
    from netlab.lab import taskgroup

    if lab.foreign:
        return f"lab {lab.id}: made by root"
    status = lab.status()
    whole = "complete" if status["complete"] else "NOT complete"
    owner = f", owned by process {status['owner_pid']}" if status["owner_pid"] else ""
    where = ", in a user namespace" if lab.user_namespace else ""
    lines = [f"lab {status['id']}: study {status['study']}, {whole}{where}{owner}"]
    lines.append(f"  processes: {taskgroup.IN_WORDS[status['task_group']]}")
    for name, host in status["hosts"].items():
        up = "up" if host["up"] else "gone"
        lines.append(f"  host {name}: {up}, namespace {host['namespace']}")
    for name, path in status["paths"].items():
        ends = " -- ".join(
            f"{end['host']} {end['interface']} {' '.join(end['addresses'])}" for end in path["ends"]
        )
        rate = f", {path['rate_bps'] / 1e6:.0f} Mb/s of frames" if path["rate_bps"] else ""
        lines.append(f"  path {name}: {ends}{rate}")
    return "\n".join(lines)
