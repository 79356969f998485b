"""``netlab hosts clean``: remove what netlab leaves on the hosts of a study."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.errors import HostError, NetlabError
from netlab.experiment.study_hosts import host_of
from netlab.hosts.leftovers import clean_host
from netlab.study import Study


def clean(study: Study, journals: bool) -> None:
    names = [name for name, host in study.hosts.items() if host.kind != "lab"]
    failed = 0
    for name in names:
        try:
            with host_of(study, name) as host:
                click.echo(f"{name}: {clean_host(host, journals=journals)}")
        except HostError as error:
            failed += 1
            options.note(error.with_code())
    if not names:
        click.echo("all hosts are of the lab: `netlab lab down` removes it")
    if failed:
        raise NetlabError(f"{failed} of {len(names)} hosts failed", code="E-CLI-018")
