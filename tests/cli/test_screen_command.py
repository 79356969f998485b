"""The options of ``netlab screen`` are validated before a host is reached."""

from __future__ import annotations

import pytest
import yaml
from click.testing import CliRunner
from lab_study import lab_study

from netlab.cli.main import main


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "lab-test.yml"
    path.write_text(yaml.safe_dump(lab_study().model_dump(mode="json")))
    return str(path)


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("--output", "best.txt"), "E-CLI-025"),
        (("--same-within", "200"), "E-SCREEN-006"),
        (("--group", "other"), "E-SCREEN-010"),
        (("--seconds", "0"), "E-"),
    ],
)
def test_bad_input_ends_with_2(study_file, argv, code):
    given = ("screen", study_file, "--tuning", "openlab-2003-full", *argv)
    done = CliRunner().invoke(main, given)
    assert done.exit_code == 2
    assert code in done.output
