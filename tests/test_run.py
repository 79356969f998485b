"""Failed tests that depend on the time of a CPU are run a second time; others are final."""

from __future__ import annotations

import ast
import itertools
import subprocess
import sys
import textwrap
from pathlib import Path

import apart
import noise
import pytest
import run
from _pytest.mark.expression import Expression

TESTS = Path(__file__).parent
FILE = """
import pytest
from pathlib import Path

def once(name):
    path = Path(__file__).with_name(name)
    there = path.exists()
    path.touch()
    return there

@pytest.mark.timing
def test_timing():
    assert {timing}

def test_other():
    assert {other}
"""


@pytest.mark.parametrize(
    ("timing", "other", "code", "second"),
    [
        ("True", "True", 0, False),
        ("once('a')", "True", 0, True),
        ("False", "True", 1, True),
        ("True", "once('b')", 1, False),
        ("once('a')", "once('b')", 1, False),
    ],
    ids=["none", "timing passes then", "timing fails again", "other", "both"],
)
def test_only_a_failed_timing_test_is_run_again_and_named(
    pytester, timing, other, code, second, monkeypatch
):
    path = pytester.makepyfile(test_it=textwrap.dedent(FILE).format(timing=timing, other=other))
    pytester.makeini("[pytest]\nmarkers =\n  timing: measures time\n")
    script = f"import run, sys; sys.exit(run.main([{path.name!r}]))"
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # loading them takes most of the time
    done = pytester.runpython_c(script)
    assert done.ret == code
    assert ("run once more:" in done.stdout.str()) is second
    assert ("\n  test_it.py::test_timing" in done.stdout.str()) is second


STUDY_FILE = """
import pytest
from pathlib import Path

@pytest.mark.study
@pytest.mark.parametrize("number", range({count}))
def test_study(number, record_property):
    record_property("contended", {share})
    path = Path(__file__).with_name(f"done-{{number}}")
    there = path.exists()
    path.touch()
    assert there, "{error}"  # a flagged run is named in the error, not only in the test
"""


@pytest.mark.parametrize(
    ("share", "count", "error", "second"),
    [
        (0.3, 1, "1 run flagged: interference", True),
        (0.05, 1, "1 run flagged: interference", False),
        (0.3, 6, "{'', 'interference'}", True),
        (0.3, 7, "{'', 'interference'}", False),
        (0.3, 1, "the server was killed", False),
        (0.3, 1, "", False),
    ],
)
def test_few_failed_studies_with_a_flagged_run_on_contended_cpus_are_run_again_and_named(
    pytester, share, count, error, second, monkeypatch
):
    text = STUDY_FILE.format(share=share, count=count, error=error)
    path = pytester.makepyfile(test_it=text)
    pytester.makeini("[pytest]\nmarkers =\n  study: measures a study\n")
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    done = pytester.runpython_c(f"import run, sys; sys.exit(run.main([{path.name!r}]))")
    assert done.ret == (0 if second else 1)
    named = f"\n  test_it.py::test_study[0]\n    work waited for a CPU in {share:.0%} of its time"
    assert (named in done.stdout.str()) is second


def test_the_share_of_contended_time_is_told_of_every_test(request):
    share = dict(request.node.user_properties)[run.CONTENDED]  # of the set-up, so far
    assert share >= 0
    before_s = noise.contended_s()
    assert 0 <= before_s <= noise.contended_s()


def test_an_error_of_pytest_itself_is_final(monkeypatch):
    monkeypatch.setattr(run.pytest, "main", lambda *_, **__: pytest.ExitCode.INTERRUPTED)
    assert run.main(["tests"]) == pytest.ExitCode.INTERRUPTED


def marked(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(mark) == "pytest.mark.timing" for mark in function.decorator_list)


def measures(function: ast.FunctionDef, module: ast.Module) -> bool:
    """True if a test allows for stolen time by the functions of noise.py."""
    taken = {
        alias.name
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module == "noise"
        for alias in node.names
    }
    return any(isinstance(node, ast.Name) and node.id in taken for node in ast.walk(function))


def test_the_timing_tests_are_those_that_measure_what_others_took():
    own = {"test_noise.py", "test_run.py"}
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        if "timing" not in text and "noise" not in text:
            continue
        tree = ast.parse(text)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and function.name.startswith("test_"):
                wanted = measures(function, tree) and path.name not in own
                assert marked(function) == wanted, f"{path.name}: {function.name}"


def parts(monkeypatch, codes: list[int]) -> tuple[int, list[list[str]]]:
    """Run with these exit codes of the parts; return the code and the arguments of each part."""
    left, given = iter(codes), []

    def one(argv, *, env):
        assert (apart.WANTED in env) is ("loadfile" in argv)
        given.append(argv)
        return subprocess.CompletedProcess(argv, next(left))

    monkeypatch.setattr(run.subprocess, "run", one)
    return run.main([]), given


def selects(expression, marked):
    """True if `-m expression` takes a test with these markers."""
    return Expression.compile(expression).evaluate(lambda name, **_: marked[name])


@pytest.mark.parametrize("marks", list(itertools.product([False, True], repeat=7)))
def test_every_test_is_in_one_part(monkeypatch, marks):
    names = ("e2e", "native", "root", "slow", "timing", "alone", "beside")
    marked = dict(zip(names, marks, strict=True))
    code, given = parts(monkeypatch, [0, 0, 0])
    assert code == 0
    assert [selects(argv[-1], marked) for argv in given].count(True) == 1


def test_tests_that_measure_run_alone(monkeypatch):
    _, given = parts(monkeypatch, [0, 0, 0])
    assert ["-n" in argv for argv in given] == [True, True, False]
    quick, files, alone = (argv[-1] for argv in given)
    plain = dict.fromkeys(("e2e", "native", "root", "slow", "timing", "alone", "beside"), False)
    assert selects(quick, plain)
    assert selects(files, {**plain, "native": True})
    assert selects(alone, {**plain, "native": True, "timing": True})
    assert selects(alone, {**plain, "e2e": True})
    assert selects(alone, {**plain, "native": True, "alone": True})
    assert selects(files, {**plain, "e2e": True, "timing": True, "beside": True})


@pytest.mark.parametrize("codes", [[1, 0, 0], [0, 1, 0], [0, 0, 1]])
def test_all_parts_run_and_a_failure_of_any_is_one(monkeypatch, codes):
    code, given = parts(monkeypatch, codes)
    assert code == 1 and len(given) == 3


def test_the_longest_files_are_there():
    named = (*run.LONGEST, *run.STUDIES)
    assert [name for name in named if not (TESTS / name).is_file()] == []


def test_tests_of_a_job_in_the_background_can_interrupt(tmp_path):
    """Its SIGINT and SIGHUP are ignored, and so are those of all processes that it starts."""
    test = tmp_path / "test_it.py"
    test.write_text(
        "import signal\n\ndef test_it():\n"
        "    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "    assert signal.getsignal(signal.SIGHUP) == signal.SIG_DFL\n"
    )
    runner = (sys.executable, str(TESTS / "run.py"), "-q", "-p", "no:cacheprovider", str(test))
    words = ("sh", "-c", 'trap "" INT HUP; exec "$@"', "sh", *runner)
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
