"""Wrong command lines of `gensink tune`."""

from __future__ import annotations

import json
import subprocess

import pytest


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--hold-s"], "--hold-s needs a value"),
        (["--hold-s=0"], "--hold-s: expected an integer from 1 to 86400"),
        (["--silence-s", "86401"], "--silence-s: expected an integer from 1"),
        (["--colour"], "allowed: --hold-s, --silence-s, --help"),
        (["y"], "unexpected argument y"),
    ],
)
def test_a_wrong_command_line_is_bad_input(program, options, says):
    run = subprocess.run([program, *options], capture_output=True, text=True, timeout=20)
    assert run.returncode == 2
    answer = json.loads(run.stdout)
    assert (answer["event"], answer["code"]) == ("error", "bad_request")
    assert says in answer["message"]
