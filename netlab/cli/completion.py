"""``netlab completion``: completion of commands and options for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from netlab.cli.exitcodes import guarded

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_NETLAB_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS), default="bash")
@click.pass_context
@guarded
def completion_command(context: click.Context, shell: str) -> None:
    """Print the script that completes netlab's commands and options in SHELL.

    bash: eval "$(netlab completion bash)" in ~/.bashrc; zsh: the same in ~/.zshrc; fish: netlab
    completion fish > ~/.config/fish/completions/netlab.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None, shell
    click.echo(kind(context.find_root().command, {}, "netlab", VARIABLE).source())
