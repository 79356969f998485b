"""A mistake in the command line ends with a code, as every other error does."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from test_main import all_commands

from netlab.cli import main
from netlab.cli.usage import CODES, CodedGroup
from netlab.errors import CODE

UNKNOWN_OPTION = "E-CLI-027"


def refused(command: click.Command, *words: str) -> str:
    """The last line of a command that refuses its arguments."""
    done = CliRunner().invoke(command, words)
    assert (done.exit_code, done.stdout) == (2, "")
    line = done.stderr.rstrip("\n").splitlines()[-1]
    assert line.startswith("Error: ")
    return line


PASSED_ON = {("lab", "shell")}
"""Commands that give options they do not know to a program."""


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--unknown",), UNKNOWN_OPTION, "--unknown"),
        (("run", "--unknown"), UNKNOWN_OPTION, "--unknown"),
        (("lab", "up", "--unknown"), UNKNOWN_OPTION, "--unknown"),
        (("no-such-command",), "E-CLI-028", "no-such-command"),
        (("lab", "no-such-command"), "E-CLI-028", "no-such-command"),
        (("run",), "E-CLI-029", "STUDY"),
        (("run", "openlab-2003", "--rounds", "many"), "E-CLI-030", "--rounds"),
        (("run", "openlab-2003", "--outer", "host"), "E-CLI-030", "NAME=LEVEL"),
        (("run", "openlab-2003", "--rounds"), "E-CLI-031", "--rounds"),
        (("run", "one", "two"), "E-CLI-033", "two"),
    ],
)
def test_a_usage_error_says_what_is_wrong_and_its_code(words, code, said):
    line = refused(main, *words)
    assert said in line and line.endswith(f" [{code}]")


@pytest.mark.parametrize("words", sorted({*all_commands()} - PASSED_ON), ids=" ".join)
def test_every_command_refuses_an_unknown_option_with_the_same_code(words):
    assert refused(main, *words, "--no-such-option").endswith(f" [{UNKNOWN_OPTION}]")


def test_an_argument_with_too_few_values_has_a_code():
    @click.group(cls=CodedGroup)
    def group() -> None:
        """A group."""

    @group.command()
    @click.argument("pair", nargs=2)
    def pairs(pair):
        """A command."""

    assert refused(group, "pairs", "one").endswith(" [E-CLI-032]")


def test_every_kind_of_usage_error_has_a_code_of_its_own():
    codes = [code for _, code in CODES]
    assert len(set(codes)) == len(codes) and all(CODE.fullmatch(code) for code in codes)
    for at, (kind, _) in enumerate(CODES):  # none is hidden by a kind before it
        assert not any(issubclass(kind, before) for before, _ in CODES[:at])
    assert CODES[-1][0] is click.UsageError


def test_help_has_no_code():
    for words in ((), ("lab",), ("--help",)):
        assert not CODE.search(CliRunner().invoke(main, words).output)
