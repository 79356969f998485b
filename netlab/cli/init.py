"""``netlab init``: from two SSH names to a study."""

from __future__ import annotations

import re
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput

_HOST = re.compile(r"(?:(?P<user>[^@]+)@)?(?P<address>\[[^\]]+\]|[^@:\[\]]+)(?::(?P<port>\d+))?")


@click.command("init")
@click.argument("left")
@click.argument("right")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write; LEFT-RIGHT.yml by default.",
)
@click.option("--data", nargs=2, metavar="ADDRESS ADDRESS", help="Data addresses of both ends.")
@click.option("--identity-file", metavar="FILE", help="Private key for SSH.")
@click.option("--force", is_flag=True, help="Write over an existing file.")
@guarded
def init_command(
    left: str,
    right: str,
    output: Path | None,
    data: tuple[str, str] | None,
    identity_file: str | None,
    force: bool,
) -> None:
    """Look at two hosts, and write a study of the path between them.

    LEFT and RIGHT are SSH names: HOST, USER@HOST or HOST:PORT, or aliases of ~/.ssh/config. The
    interfaces that join them are found by their addresses and a ping. What would spoil a
    measurement is listed with the command or the knob that helps; nothing is changed on the hosts.
    """
    from netlab.survey.init import init_study

    written = init_study(
        tuple(_reached(text, identity_file) for text in (left, right)),
        output=output,
        data=data,
        force=force,
    )
    for finding in written.findings:
        for line in finding.lines():
            click.echo(line)
    click.echo(f"{written.file}: a study of {written.path}; next: netlab check {written.file}")


def _reached(text: str, identity_file: str | None) -> dict[str, str | int | None]:
    """Parts of an SSH name, as keys of a study's host."""
    user, at, address = text.rpartition("@")
    if address.count(":") > 1 and "[" not in address:  # IPv6 without a port
        text = f"{user}{at}[{address}]"
    parts = _HOST.fullmatch(text)
    if parts is None:
        raise BadInput("is not HOST, USER@HOST or HOST:PORT", value=text, code="E-CLI-024")
    return {
        "address": parts["address"].strip("[]"),
        "user": parts["user"],
        "port": int(parts["port"]) if parts["port"] else None,
        "identity_file": identity_file,
    }
