"""A wing can be removed, and the rest works; its own tests of a night run more of it."""

from __future__ import annotations

import tomllib

import pytest
from removed_wing import OWN, ROOT, check_rest

RUN = ("tests/test_wings.py", "tests/cli/test_main.py", "tests/face/test_face_names.py")
"""Tests of what wings add to."""


@pytest.mark.timeout(1800)  # minutes of CPU, on a machine that does other work
@pytest.mark.parametrize("wing", OWN)
def test_the_rest_works_without_a_wing(wing, tmp_path):
    check_rest(wing, tmp_path / "netlab", RUN)


def test_every_wing_in_the_checkout_is_removed_by_these_tests():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["netlab.wings"].keys() == set(OWN)
    folders = (path for path in (ROOT / "netlab").iterdir() if (path / "__init__.py").is_file())
    assert {f.name for f in folders if "Wing(" in (f / "__init__.py").read_text()} == set(OWN)
