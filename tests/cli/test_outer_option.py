"""A factor that a person sets is given on the command line, or the command is refused."""

from __future__ import annotations

import click
import pytest
import yaml
from click.testing import CliRunner
from refusals import refused

from netlab.cli import main
from netlab.cli.validation import asked_outer
from netlab.errors import BadInput
from netlab.study import Study

HOST = {"kind": "lab"}
CONTENT = {
    "netlab": 1,
    "name": "kernels",
    "title": "Kernels",
    "hosts": {"left": HOST, "right": HOST},
    "paths": {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}},
    "groups": [{"name": "one", "path": "cable", "sender": "left"}],
    "streams": [1],
    "outer": {"kernel": ["smp", "up"]},
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.yml"
    path.write_text(yaml.safe_dump(CONTENT))
    return path


@pytest.mark.parametrize("command", ["run", "study"])
@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), "E-STUDY-073"),
        (("--outer", "kernel=xen"), "E-STUDY-074"),
        (("--outer", "kernel=up", "--outer", "firmware=3"), "E-STUDY-072"),
    ],
)
def test_a_level_must_be_given_and_known(command, options, code, file, tmp_path):
    done = CliRunner().invoke(
        main, [command, str(file), "--results", str(tmp_path / "r"), *options]
    )
    assert done.exit_code == 2
    assert code in done.output and "outer." in done.output
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("text", ["kernel", "=up", "kernel="])
def test_another_syntax_is_refused(text, file):
    done = CliRunner().invoke(main, ["run", str(file), "--outer", text])
    assert done.exit_code == 2 and "NAME=LEVEL" in done.output
    twice = ["run", str(file), "--outer", "kernel=up", "--outer", "kernel=smp"]
    assert "given twice" in CliRunner().invoke(main, twice).output


def test_on_a_terminal_the_level_is_asked_for(monkeypatch):
    study = Study.model_validate(CONTENT)

    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    asked = []
    monkeypatch.setattr(click, "prompt", lambda text, **options: asked.append(text) or "up")
    assert asked_outer(study, {}) == {"kernel": "up"}
    assert len(asked) == 1 and "kernel" in asked[0]
    assert asked_outer(study, {"kernel": "smp"}) == {"kernel": "smp"} and len(asked) == 1


def test_without_a_terminal_nothing_is_asked(monkeypatch):
    with open("/dev/null") as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with refused(BadInput, "E-STUDY-073"):
            asked_outer(Study.model_validate(CONTENT), {})
