"""What `netlab measure` refuses, before a host is reached; exit codes of the help and the docs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli.main import main

REFUSED = {
    "one host": (["left"], "E-CLI-035"),
    "not a host": (["a@b@c", "right"], "E-CLI-024"),
    "the same host": (["me@left", "left"], "E-SURVEY-004"),
    "no streams": (["left", "right", "--streams", "0"], "0 is not in the range"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_measured_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, message = REFUSED[case]
    done = CliRunner().invoke(main, ["measure", *words])
    assert done.exit_code == 2 and message in done.output
    assert not list(tmp_path.iterdir())


def test_the_help_and_the_docs_have_the_same_exit_codes():
    docs = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    help_text = CliRunner().invoke(main, ["--help"]).output
    code = r"(\d(?!\d)|128 \+ n)"
    assert re.findall(rf"^    {code} +", help_text, re.M) == re.findall(
        rf"^\| {code} \|", docs, re.M
    )
