"""A directory whose campaign has begun, and has no runs yet, is named as that."""

from __future__ import annotations

import shutil

import face_home
import pytest
from click.testing import CliRunner
from refusals import refused

import netlab
from netlab.cli import main
from netlab.errors import NetlabError
from netlab.files import paths


@pytest.fixture
def begun(tmp_path, monkeypatch):
    """A directory of results, as a campaign has it before its first visit ends."""
    face_home.home_at(tmp_path, monkeypatch)
    directory = tmp_path / "campaign"
    shutil.copytree(paths.example("agreement") / "campaigns", directory / "campaigns")
    return directory


def test_a_campaign_without_runs_is_named_and_no_study_file_is_sought(begun):
    (campaign,) = (place.name for place in (begun / "campaigns").iterdir())
    for name in (begun, str(begun), "campaign"):
        with refused(NetlabError, "E-ANALYSIS-011", match=f"campaign {campaign} has stored none"):
            netlab.Results(name)
    reported = CliRunner().invoke(main, ["report", str(begun)])
    assert reported.exit_code == 1 and "E-ANALYSIS-011" in reported.output


def test_a_directory_without_results_is_named_as_one(begun):
    (begun.parent / "empty").mkdir()
    with refused(NetlabError, "E-ANALYSIS-011", match="holds no runs; measure the study first"):
        netlab.Results(begun.parent / "empty")
