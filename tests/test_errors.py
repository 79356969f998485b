"""Errors as a user and a shell see them."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from netlab import errors
from netlab.cli.guard import guarded
from netlab.errors import BadInput, HostError, Mistakes, NetlabError, RunError, shown, why

ALL = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)
]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_every_error_is_a_netlab_error_and_only_bad_input_exits_with_2(kind):
    assert issubclass(kind, NetlabError)
    assert kind.exit_code == (2 if issubclass(kind, BadInput) else 1)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "is wrong"),
        ({"where": "a.yml"}, "a.yml: is wrong"),
        ({"where": "a.yml", "key": "b.c"}, "a.yml: b.c: is wrong"),
        ({"key": "b.c", "value": 0}, "b.c: is wrong (found 0)"),
        ({"where": "a.yml", "key": "b", "value": ""}, "a.yml: b: is wrong (found '')"),
        ({"key": "b", "value": False}, "b: is wrong (found False)"),
    ],
)
def test_bad_input_names_file_key_and_value(given, text):
    error = BadInput("is wrong", **given)
    assert str(error) == text
    assert (error.where, error.key) == (given.get("where", ""), given.get("key", ""))
    assert error.value == given.get("value")


def test_a_message_is_short_printable_and_on_one_line():
    error = BadInput("is wrong", where="a.yml", key="k" * 9999, value="v" * 9999)
    assert len(str(error)) < 250
    assert len(error.value) == len(error.key) == 9999
    for text in ("one\ntwo", "one\x1etwo", "one\u2028two", "\ud800"):
        error = BadInput("is wrong", key=text, value=text)
        assert len(str(error).splitlines()) == 1
        assert error.key == text
    assert shown(1 << 100_000) == "a int too large to print"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "plan.json"),
            "No such file or directory",
        ),
        (OSError("no number"), "no number"),
        (KeyError("hosts"), "it lacks 'hosts'"),
        (ValueError("2 mistakes\n  one\n  two"), "2 mistakes one two"),
        (TypeError(), "TypeError"),
    ],
)
def test_the_reason_of_an_error_of_python_is_one_line_without_its_file(error, reason):
    assert why(error) == reason


def test_host_error_says_command_status_and_the_last_ten_lines():
    output = "\n".join(f"line {number}" for number in range(1, 31))
    error = HostError("h", "sysctl failed", command=("ls", "a b"), exit_status=3, output=output)
    first, *rest = str(error).splitlines()
    assert first == "h: sysctl failed; command: ls 'a b'; exit status 3"
    assert rest == [f"| line {number}" for number in range(21, 31)]
    assert error.command == ("ls", "a b")
    assert str(HostError("h", "gone")) == "h: gone"
    assert str(HostError("h", "said nothing", exit_status=0)) == "h: said nothing; exit status 0"


def test_the_words_of_a_host_are_marked_escaped_and_cut():
    output = "x" * 9000 + "\nnetlab: all is well\x1b[2J\rnetlab: done"
    first, *rest = str(HostError("h", "failed \x1b]0;t\x07", output=output)).split("\n")
    assert first == r"h: failed \x1b]0;t\x07"
    assert rest[1:] == [r"| netlab: all is well\x1b[2J", "| netlab: done"]
    assert len(rest[0]) < 4100


def test_every_error_takes_a_code_and_shows_it_on_request():
    for kind in ALL:
        first = {"HostError": "h", "Mistakes": [BadInput("a")]}.get(kind.__name__)
        words = {"where": "f.yml"} if kind is Mistakes else {}
        given = [first] if kind is Mistakes else [*filter(None, [first]), "no"]
        error = kind(*given, **words, code="E-LAB-001")
        assert error.code == "E-LAB-001" and "E-LAB-001" not in str(error)
        assert error.with_code().splitlines()[0].endswith(" [E-LAB-001]")


def test_a_code_comes_before_the_output_of_a_command_and_none_is_shown_where_none_is():
    error = HostError("h", "failed", exit_status=1, output="one\ntwo", code="E-HOST-001")
    assert error.with_code() == "h: failed; exit status 1 [E-HOST-001]\n| one\n| two"
    assert BadInput("no").code is None
    assert BadInput("no").with_code() == "no"


def test_the_mistakes_of_a_file_are_listed_each_with_its_code():
    each = [BadInput("is wrong", where="f.yml:1", code="E-YAML-001"), BadInput("too")]
    error = Mistakes(each, where="f.yml")
    assert str(error).splitlines() == [
        "f.yml: 2 mistakes",
        "  f.yml:1: is wrong [E-YAML-001]",
        "  too",
    ]
    assert error.mistakes == tuple(each)


def test_a_command_ends_with_the_message_the_code_and_the_exit_status(capsys):
    @guarded
    def command() -> None:
        raise BadInput("is wrong", where="f.yml:1", code="E-YAML-001")

    with pytest.raises(SystemExit) as caught:
        command()
    assert caught.value.code == 2
    assert capsys.readouterr().err == "netlab: f.yml:1: is wrong [E-YAML-001]\n"


def test_run_error_carries_the_agents_word():
    assert RunError("no", reason="in_use").reason == "in_use"
    assert RunError("no").reason == "internal"


PACKAGE = Path(errors.__file__).parent
PREFIXES = {
    **{"files": {"YAML", "FILES"}, "results": {"RESULTS", "IMPORT"}, "experiment": {"RUN"}},
    **{
        "hosts": {"HOST"},
        "generators": {"TOOL"},
    },
    "wings.py": {"WING"},
    "bundle": {"CLI", "REPORT"},
    "fleet": {"CHARTS", "FLEET", "REPORT"},
    "imports": {"CLI", "FACE", "IMPORT"},
    "longpath": {"ANALYSIS"},
    "openlab": {"CHARTS", "FACE", "PUBLISHED"},
    "qualify": {"BENCH", "CALIBRATION", "CHARTS", "CLI"},
    "search": {"ANALYSIS", "AUTOTUNE", "CHARTS", "CLI", "SCREEN"},
    "survey": {"CLI", "SURVEY"},
    "outputs": {"IMPORT"},
}
"""Of the packages whose codes do not have their name."""
MAKERS = {kind.__name__ for kind in ALL} | {"damaged", "bad", "_error", "_fail", "_fail_gone"}
"""Classes and functions that make an error."""
PROGRAMMING_ERRORS = {
    *(
        "AttributeError",
        "BadParameter",
        "ConnectionError",
        "EOFError",
        "KeyboardInterrupt",
        "NotImplementedError",
    ),
    *("PermissionError", "TimeoutError", "TypeError", "UnknownHostKey", "RevokedHostKey"),
    *("BadHostKeyException", "ValueError"),
}
"""Raised for a caller, which handles them; click shows its BadParameter."""


@cache
def sources() -> dict[str, ast.Module]:
    """Name in the package -> syntax tree of every module."""
    return {
        str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def codes_of(module: ast.Module) -> list[str]:
    """Every text of a module that is a code, or looks as if it were meant to be one."""
    texts = [n.value for n in ast.walk(module) if isinstance(n, ast.Constant)]
    return [text for text in texts if isinstance(text, str) and re.fullmatch(r"[Ee]-\w+-\w+", text)]


def uncoded_calls(module: ast.Module) -> list[str]:
    """Calls that make an error and give it no code."""
    nodes = list(ast.walk(module))
    raised = {id(n.exc) for n in nodes if isinstance(n, ast.Raise)}
    found = []
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        raised_class = id(node) in raised and name[:1].isupper()
        makes = name in MAKERS or (raised_class and name not in PROGRAMMING_ERRORS)
        if makes and not any(keyword.arg == "code" for keyword in node.keywords):
            found.append(f"line {node.lineno}: {name}")
    return found


def test_the_search_for_codes_finds_them():
    module = ast.parse(
        "raise BadInput('a', code='E-LAB-001')\n"
        "raise BadInput('E-lab-2')\n"
        "raise ValueError('c')\n"
        "raise other.Strange('d')\n"
        "raise known\n"
        "x = HostError('h', 'e')\n"
    )
    assert sorted(codes_of(module)) == ["E-LAB-001", "E-lab-2"]
    assert uncoded_calls(module) == ["line 2: BadInput", "line 4: Strange", "line 6: HostError"]


def test_every_code_is_well_formed_belongs_to_its_package_and_is_written_once():
    places: dict[str, str] = {}
    for name, module in sources().items():
        package = name.split("/")[0]
        for code in codes_of(module):
            assert errors.CODE.fullmatch(code), f"{name}: {code}"
            prefixes = PREFIXES.get(package, {package.upper()})
            assert code.split("-")[1] in prefixes, f"{name}: {code}"
            assert places.setdefault(code, name) == name, f"{name}: {code}"
        assert len(codes_of(module)) == len(set(codes_of(module))), name


def test_every_error_has_a_code():
    packages = {name.split("/")[0] for name in sources() if "/" in name}
    assert {"study", "hosts", "cli"} <= packages and len(packages) > 20
    for name, module in sources().items():
        if "/" in name:
            assert not uncoded_calls(module), name
