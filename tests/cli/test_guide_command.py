"""``netlab guide`` writes the guide where it is asked to, and nowhere else."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from netlab.cli import main
from netlab.files import paths

pytestmark = pytest.mark.slow


def test_the_guide_is_written_and_its_first_page_named(tmp_path, monkeypatch):
    monkeypatch.setenv(paths.HOME, str(tmp_path))
    done = CliRunner().invoke(main, ["guide"])
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "guide" / "index.html")
    assert (tmp_path / "guide" / "api.html").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["guide"], "no cache beside it"


def test_a_directory_with_other_files_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    done = CliRunner().invoke(main, ["guide", "--site", str(tmp_path)])
    assert done.exit_code == 2 and "E-REPORT-006" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
