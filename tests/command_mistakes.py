"""Commands that cannot go on: studies for them, and what each has to say."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from lab_study import lab_study

from netlab.cli import main
from netlab.study import Study

LAB = {"left": {"kind": "lab"}, "right": {"kind": "lab"}}
CABLE = {"cable": {"ends": [{"host": "left"}, {"host": "right"}], "link": {}}}
OUTER = lab_study(LAB, CABLE, "kernels").model_copy(update={"outer": {"kernel": ("smp", "up")}})


def ssh_study() -> Study:
    """A study of two hosts that do not exist."""
    host = {"kind": "ssh", "address": "no-such-host.invalid"}
    ends = [("here", "127.0.0.1"), ("there", "127.0.0.2")]
    path = [{"host": name, "address": at, "interface": "lo"} for name, at in ends]
    return lab_study({"here": host, "there": host}, {"p": {"ends": path}}, "remote")


def netlab(*argv: str) -> Result:
    return CliRunner().invoke(main, argv)


def cannot_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argv: str, code: int, words: str
) -> None:
    """Assert that a command of the shell ends with a code and words, prints and writes nothing."""
    monkeypatch.chdir(tmp_path)
    turbo = lab_study().model_dump(mode="json")
    turbo["tunings"].append({"name": "turbo", "mtus_B": [1500]})
    studies = {"lab": lab_study(), "remote": ssh_study(), "outer": OUTER}
    contents = {name: study.model_dump(mode="json") for name, study in studies.items()}
    for name, content in {**contents, "turbo": turbo}.items():
        Path(f"{name}.yml").write_text(yaml.safe_dump(content))
    before = set(tmp_path.iterdir())
    done = netlab(*shlex.split(argv))
    assert (done.exit_code, done.stdout) == (code, "")
    assert all(word in done.stderr for word in words.split(" | "))
    assert "Traceback" not in done.stderr
    assert code == 1 or set(tmp_path.iterdir()) == before
