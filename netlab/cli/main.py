"""The ``netlab`` command: the same studies from a shell, with exit codes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, MutableMapping
from typing import Any

import click

from netlab import wings
from netlab.cli.guard import GuardedGroup, end_on_signals, guarded
from netlab.errors import NetlabError
from netlab.wings import Command

CORE = {
    "check": Command(
        "netlab.cli.studies:check_command",
        "Check that STUDY can run: hosts, keys, sudo, interfaces, MTUs, space, limits, ceilings.",
    ),
    "compare": Command(
        "netlab.cli.results:compare_command",
        "Compare goodput of B, and of further results, with that of A, cell by cell.",
    ),
    "guide": Command(
        "netlab.cli.shipped:guide_command",
        "Show a PAGE of the documentation: guide, report, columns, study, ...",
    ),
    "hosts": Command("netlab.cli.hosts:hosts_group", "Clean hosts."),
    "lab": Command(
        "netlab.cli.hosts:lab_group", "Make, show and remove labs of network namespaces."
    ),
    "notebooks": Command(
        "netlab.cli.shipped:notebooks_command",
        "Copy the notebooks that come with netlab into DIRECTORY, and print it.",
    ),
    "report": Command(
        "netlab.cli.studies:report_command",
        "Write the report of what STUDY has measured, and print its path.",
    ),
    "results": Command(
        "netlab.cli.results:results_group",
        "List, show, prune and repair the campaigns of a directory of results.",
    ),
    "run": Command(
        "netlab.cli.studies:run_command", "Measure every run of STUDY that has no valid record yet."
    ),
    "schema": Command(
        "netlab.cli.shipped:schema_command",
        "Print the JSON Schema of a study file, with a description and an example for each key.",
    ),
    "study": Command(
        "netlab.cli.studies:study_command",
        "Measure STUDY and write its report: `run`, then `report`.",
    ),
    "tune": Command("netlab.cli.hosts:tune_group", "Show the changes of tunings; recover hosts."),
}
"""Commands of the core; wings are asked for others, and for a list of all."""


def _command_at(target: str) -> click.Command:
    command = wings.load(target)
    if not isinstance(command, click.Command):
        text = f"{target} is not a command of click, but a {type(command).__name__}; mend its wing"
        raise NetlabError(text, code="E-CLI-083")
    return command


class CommandTable(MutableMapping[str, click.Command]):
    """Commands by their names; the module of one is imported when it is asked for."""

    def __init__(self) -> None:
        self._loaded: dict[str, click.Command] = {}

    def listed(self) -> dict[str, Command]:
        return {**CORE, **wings.commands(CORE)}

    def __getitem__(self, name: str) -> click.Command:
        if name not in self._loaded:
            listed = CORE if name in CORE else wings.commands()
            # a limit of this process or a Ctrl-C ends an import, too, with one sentence
            self._loaded[name] = guarded(_command_at)(listed[name].target)
        return self._loaded[name]

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.listed()))

    def __len__(self) -> int:
        return len(self.listed())


class CommandGroup(GuardedGroup):
    """The group of all commands: its help imports none of them."""

    group_class = GuardedGroup  # a group in it has its own commands, and no others

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self.table = CommandTable()
        self.commands = self.table

    def main(self, *arguments: Any, **settings: Any) -> Any:
        """Run; completions, which click prints before anything else, end as commands do."""
        return guarded(super().main, needs_limits=False)(*arguments, **settings)

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Parse options; help and the version, which click prints meanwhile, end as commands do."""
        context: click.Context
        context = guarded(super().make_context, needs_limits=False)(*arguments, **settings)
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; one of another package's wing need not be guarded itself."""
        return guarded(super().invoke)(ctx)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Names of commands and their summaries, without an import of any, then options."""
        # 10 ms of CPU time, for the shell only
        from click.shell_completion import CompletionItem

        with warnings.catch_warnings(action="ignore"):  # the line that the user writes stays whole
            listed = self.table.listed()
        names = [
            CompletionItem(name, help=one.summary)
            for name, one in sorted(listed.items())
            if name.startswith(incomplete)
        ]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = sorted(self.table.listed().items())
        width = formatter.width - 6 - max(len(name) for name, _ in listed)
        rows = [
            (name, click.Command(name, help=one.summary).get_short_help_str(width))
            for name, one in listed
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _show_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the version with its commit, and what the build left out."""
    if not wanted or context.resilient_parsing:
        return
    # the library itself and git, for this option alone
    from netlab import core
    from netlab.version import version

    click.echo(f"netlab, version {version()}")
    if lack := core.bpf_missing():
        click.echo(f"built without BPF congestion controls: {lack}")
    context.exit()


@click.group(
    cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
def main() -> None:
    """Measure, tune and publish: reproducible throughput studies of a network path.

    \b
    Exit codes:
      0        done
      1        something failed: a command, a host, all runs of a cell, a bound
      2        bad input; nothing was changed or measured
      3        compare: a condition of --fail-if is met
      4        measured or written, and below the quality gate; imported in part
      128 + n  ended by signal n: 130 Ctrl-C, 129 SIGHUP, 143 SIGTERM
    """
    end_on_signals()
