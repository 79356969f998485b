"""Completion: a script for each shell, and the answers that it asks netlab for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli import main
from netlab.cli.completion import SHELLS, VARIABLE

NETLAB = Path(sys.executable).with_name("netlab")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_each_shell_calls_netlab(shell, tmp_path):
    done = CliRunner().invoke(main, ["completion", shell])
    assert done.exit_code == 0
    assert f"{VARIABLE}={shell}_complete" in done.output and "netlab" in done.output
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.output)
        subprocess.run((shell, "-n", tmp_path / "script"), check=True, timeout=30)


def test_another_shell_is_bad_input():
    assert CliRunner().invoke(main, ["completion", "tcsh"]).exit_code == 2


def test_netlab_answers_what_the_script_asks():
    environment = {VARIABLE: "bash_complete", "COMP_WORDS": "netlab ver", "COMP_CWORD": "1"}
    done = subprocess.run(
        (str(NETLAB),),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "plain,verify\n"
