"""Without a wing all quick tests that wings add to are as green as with it."""

from __future__ import annotations

import pytest
from removed_wing import OWN, check_rest

RUN = (
    *("tests/analysis", "tests/charts", "tests/cli", "tests/face", "tests/hosts/test_stack.py"),
    *("tests/report", "tests/study/test_wad_conf.py", "tests/test_any_input.py"),
    *("tests/test_wings.py", "tests/imports"),
)


@pytest.mark.timeout(3600)  # minutes of CPU, on a machine that does other work
@pytest.mark.parametrize("wing", OWN)
def test_the_tests_of_the_rest_pass_without_a_wing(wing, tmp_path):
    check_rest(wing, tmp_path / "netlab", RUN)
