"""``netlab hosts``: what netlab leaves on the hosts of a study."""

from __future__ import annotations

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import study_argument
from netlab.cli.validation import load_study
from netlab.errors import HostError, NetlabError


@click.group("hosts")
def hosts_group() -> None:
    """Clean hosts."""


@hosts_group.command("clean")
@study_argument
@click.option(
    "--journals", is_flag=True, help="Also remove journals of settings that were not reverted."
)
@guarded
def clean_command(study: str, journals: bool) -> None:
    """Remove the agent, its cache and its journals from every SSH host of STUDY.

    `netlab check` and `netlab run` leave the agent in ~/.cache/netlab of the user on each host, so
    that the next run need not copy it. Prints what was found. Hosts of the lab have nothing of
    their own. Every host is tried; exit code 1 if one failed.
    """
    loaded = load_study(study)
    from netlab.experiment.inventory import host_of
    from netlab.hosts.clean import clean_host

    names = [name for name, host in loaded.hosts.items() if host.kind != "lab"]
    failed = 0
    for name in names:
        try:
            with host_of(loaded, name) as host:
                click.echo(f"{name}: {clean_host(host, journals=journals).text()}")
        except HostError as error:
            failed += 1
            click.echo(f"netlab: {error.with_code()}", err=True)
    if not names:
        click.echo("all hosts are of the lab: `netlab lab down` removes it")
    if failed:
        raise NetlabError(f"{failed} of {len(names)} hosts failed", code="E-CLI-018")
