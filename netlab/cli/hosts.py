"""Commands on hosts of a study: ``lab``, ``hosts``, ``tune``."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.group("lab")
def lab_group() -> None:
    """Make, show and remove labs of network namespaces.

    Without root a lab is made in a user namespace, and is the user's own.
    """


@lab_group.command("up", validates="netlab.cli.loading:any_study", runs="netlab.cli.labs:up")
@click.argument("study", default="openlab-2003")
def up_command() -> None:
    """Make the hosts and links of STUDY; they stay until `netlab lab down`."""


@lab_group.command("down", runs="netlab.cli.labs:remove")
@click.argument("lab_id", required=False)
def down_command() -> None:
    """Remove the lab LAB_ID, or all that no running netlab owns."""


@lab_group.command("status", runs="netlab.cli.labs:status")
def status_command() -> None:
    """List what the labs of this machine consist of."""


@lab_group.command(
    "shell", context_settings={"ignore_unknown_options": True}, runs="netlab.cli.labs:shell"
)
@click.argument("host")
@click.argument("argv", nargs=-1)
def shell_command() -> None:
    """Run a command, or a shell, on HOST of the lab that is up."""


@main.group("hosts")
def hosts_group() -> None:
    """Clean hosts."""


@hosts_group.command(
    "clean", validates="netlab.cli.loading:any_study", runs="netlab.cli.cleaning:clean"
)
@options.study_argument
@click.option(
    "--journals", is_flag=True, help="Also remove journals of settings that were not reverted."
)
def clean_command() -> None:
    """Remove the agent, its cache and its journals from every SSH host of STUDY.

    `netlab check` and `netlab run` leave the agent in ~/.cache/netlab of the user on each host, so
    that the next run need not copy it. Prints what was found. Hosts of the lab have nothing of
    their own. Every host is tried; exit code 1 if one failed.
    """


@main.group("tune")
def tune_group() -> None:
    """Show the changes of tunings; recover hosts."""


@tune_group.command(
    "plan", validates="netlab.cli.loading:measurable", runs="netlab.cli.tunings:plan"
)
@options.study_argument
@click.option("--tuning", help="Only this tuning of the study.")
@click.option("--path", "path_name", help="Only this path of the study.")
@click.option("--commands", is_flag=True, help="Print shell commands instead of a diff.")
def plan_command() -> None:
    """Show the changes of each tuning of STUDY on each host as a diff, without making them.

    Everything is read and planned before the first line is printed.
    """


@tune_group.command(
    "recover", validates="netlab.cli.loading:any_study", runs="netlab.cli.tunings:recover"
)
@options.study_argument
def recover_command() -> None:
    """Revert what a dead netlab left changed on the hosts of STUDY."""
