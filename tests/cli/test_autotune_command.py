"""The command: mistakes are one message and exit code 2, found before a host is touched."""

import pytest
import yaml
from click.testing import CliRunner
from lab_study import lab_study

from netlab.cli import main


def invoke(*argv: str):
    return CliRunner().invoke(main, ["autotune", *argv])


@pytest.fixture
def study_file(tmp_path):
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(lab_study().model_dump(mode="json")))
    return str(path)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nowhere"], "a-b"),
        (["a-b", "--seconds", "3"], "seconds"),
        (["a-b", "--seconds", "nan"], "seconds"),
        (["a-b", "--tuning", "fast"], "tuning"),
        (["a-b", "--sender", "c"], "sender"),
        (["a-b", "--mtu", "1"], "mtu"),
        (["a-b", "--streams", "0"], "streams"),
        (["a-b", "--chart", "x.pdf"], "chart"),
        (["a-b", "--output", "x.json"], "output"),
        (["a-b", "--for", "luck"], "luck"),
        (["a-b", "--seconds", "soon"], "soon"),
    ],
)
def test_a_mistake_is_named_and_exits_with_2(study_file, argv, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = invoke(*argv, "--study", study_file)
    assert done.exit_code == 2
    assert said in done.output
    assert "Traceback" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["mine.yml"]


def test_the_help_describes_factors_output_and_exit_codes():
    text = " ".join(invoke("--help").output.split())
    for said in (
        *("record length", "socket buffer", "streams and engine", "shuffled rounds", "interval"),
        *("no better than what you had", "YAML", "JSON", "--seconds", "30 s", "Exit code 1"),
    ):
        assert said in text
