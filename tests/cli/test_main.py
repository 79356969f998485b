"""The command as a whole: help for all, no heavy imports for help."""

from __future__ import annotations

import inspect
import json
import re
import signal
import subprocess
import sys

import click
import guide
import pytest
from click.testing import CliRunner

from netlab import wings
from netlab.cli import main
from netlab.cli.main import CORE
from netlab.cli.options import TIMING

HEAVY = ("pandas", "numpy", "pydantic", "matplotlib", "fabric", "papermill", "scipy", "nbformat")

RESULTS_NEED = (
    *("pandas", "pyarrow", "papermill", "nbformat", "jupyter_client", "IPython"),
    *("matplotlib", "seaborn", "scipy"),
)


def all_commands() -> list[tuple[str, ...]]:
    """Every command and subcommand, by its words."""
    found: list[tuple[str, ...]] = [()]
    for name, command in main.commands.items():
        found.append((name,))
        if isinstance(command, click.Group):
            found += [(name, inner) for inner in command.commands]
    return found


def test_every_command_is_there():
    core = {
        *("study", "run", "report", "check", "tune", "lab", "notebooks", "guide"),
        *("compare", "results", "hosts", "schema"),
    }
    assert set(main.commands) == core | set(wings.commands())


def test_a_group_has_its_own_commands_and_no_others():
    inner = {words[0] for words in all_commands() if len(words) > 1}
    assert inner - set(wings.commands()) == {"hosts", "lab", "results", "tune"}
    help_text = CliRunner().invoke(main, ["results", "--help"]).output
    listed = re.findall(r"^  (\w+)  ", help_text.partition("Commands:")[2], re.M)
    assert (
        listed == sorted(main.commands["results"].commands) == ["list", "prune", "repair", "show"]
    )
    assert CliRunner().invoke(main, ["results", "study"]).exit_code == 2


@pytest.mark.parametrize("words", all_commands(), ids=" ".join)
def test_help_is_there_for_every_command_and_every_option(words):
    done = CliRunner().invoke(main, [*words, "--help"])
    assert done.exit_code == 0
    command: click.Command = main
    for word in words:
        command = command.commands[word]
    assert command.help
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{words}: {parameter.opts}"


def test_every_command_that_writes_results_takes_results():
    taking = {
        name
        for name, command in main.commands.items()
        if any("--results" in parameter.opts for parameter in command.params)
    }
    of_wings = {"autotune", "bench", "calibrate", "import"} & set(wings.commands())
    assert taking >= {"study", "run", "report", "check"} | of_wings


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("from netlab.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass", HEAVY),
        (
            "import click\nfrom netlab.cli import main\n"
            "names = main.shell_complete(click.Context(main), '')\n"
            "assert {'check', 'run'} <= {each.value for each in names}",
            HEAVY,
        ),
        (
            "from netlab.cli.loading import load_measurable\n"
            "import netlab.experiment.preflight\nload_measurable('openlab-2003')",
            RESULTS_NEED,
        ),
    ],
    ids=["help", "completion", "check"],
)
def test_a_command_loads_nothing_that_only_others_need(code, heavy):
    code += f"\nimport sys\nprint(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)\n"
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.strip() == "[]"


def netlabs_commands() -> list[tuple[str, ...]]:
    """Those of the core and of netlab's own wings, without groups."""
    return [
        words
        for words in all_commands()[1:]
        if not isinstance(command_of(words), click.Group)
        and (words[0] in CORE or wings.commands()[words[0]].target.startswith("netlab."))
    ]


def command_of(words: tuple[str, ...]) -> click.Command:
    command: click.Command = main
    for word in words:
        command = command.commands[word]
    return command


def test_help_of_a_command_and_a_mistake_in_its_study_load_little():
    code = (
        "import sys\nfrom netlab.cli import main\n"
        "def run(*words):\n"
        "    try: main(words)\n"
        "    except SystemExit as end: return end.code\n"
        f"for words in {netlabs_commands()!r}: assert run(*words, '--help') == 0\n"
        f"helped = set({HEAVY!r}) & set(sys.modules)\n"
        "for words in (('check',), ('run',), ('tune', 'plan'), ('hosts', 'clean')):\n"
        "    assert run(*words, 'no-such-study') == 2\n"
        "mistaken = {'fabric', *" + repr(RESULTS_NEED) + "} & set(sys.modules)\n"
        "print(helped | mistaken, file=sys.stderr)"
    )
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr.count("no-such-study") >= 4
    assert done.stderr.splitlines()[-1] == "set()"


@pytest.mark.parametrize("words", netlabs_commands(), ids=" ".join)
def test_a_function_that_a_command_names_takes_its_arguments(words):
    command = command_of(words)
    names = {parameter.name for parameter in command.params}
    if command.validates:
        inspect.signature(wings.load(command.validates)).bind(**dict.fromkeys(names))
    if command.runs:
        takes = inspect.signature(wings.load(command.runs)).parameters.values()
        named = {one.name for one in takes if one.kind is not one.VAR_KEYWORD}
        # arguments that are validated may be loaded into others
        assert named <= names | ({"notebooks", "campaign"} if command.validates else set())
        assert names - named <= set(TIMING) or any(one.kind is one.VAR_KEYWORD for one in takes)


INTERRUPTED = """
import atexit, signal, sys
import importlib.util  # in an editable installation the finder of its modules does so at the first
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
def interrupt(*_):
    signal.raise_signal(signal.SIGINT)
class Interrupt:
    def find_spec(self, name, *_more):
        if name == WHEN:
            sys.meta_path.remove(self)
            interrupt()
sys.meta_path.insert(0, Interrupt())
for name in ("enum", "signal"):  # the finder of this script has them imported
    sys.modules.pop(name, None)
if WHEN == "parsing":
    import click
    click.Context.__enter__ = interrupt
if WHEN == "end":
    atexit.register(interrupt)
sys.argv = ["netlab", "schema"]
from netlab.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "when", ["signal", "netlab.interrupts", "netlab.cli.main", "click", "netlab.wings", "parsing"]
)
def test_a_ctrl_c_before_a_command_runs_is_one_sentence(when):
    code = INTERRUPTED.replace("WHEN", repr(when))
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (130, ""), done
    assert done.stderr == "netlab: interrupted; nothing was changed\n"


def test_a_ctrl_c_while_python_ends_ends_it_without_a_word():
    code = INTERRUPTED.replace("WHEN", repr("end"))
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")
    assert json.loads(done.stdout)["title"]


def test_a_directory_that_is_given_is_made_absolute(tmp_path, monkeypatch):
    from netlab.cli.options import results_option

    @click.command()
    @results_option("--into")
    def show(results):
        click.echo(results)

    monkeypatch.chdir(tmp_path)
    for name in ("--results", "--into"):
        assert CliRunner().invoke(show, [name, "here"]).output == f"{tmp_path / 'here'}\n"
    assert CliRunner().invoke(show, []).output == "\n"


def test_the_help_and_the_docs_have_the_same_exit_codes():
    docs = (guide.DOCS / "commands.md").read_text()
    codes = re.findall(r"^    (\d(?!\d)|128 \+ n) +", CliRunner().invoke(main, ["-h"]).output, re.M)
    assert codes and codes == re.findall(r"^\| (\d(?!\d)|128 \+ n) \|", docs, re.M)
