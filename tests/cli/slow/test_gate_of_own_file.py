"""The gate's remedy on a terminal names the file that the user gave, not its stored copy."""

from __future__ import annotations

import re

import pytest
import synthetic
from click.testing import CliRunner

from netlab.cli import main
from netlab.study import load
from netlab.study.frozen import freeze


@pytest.fixture
def flagged(request, tmp_path):
    """A study's own file, and results of it or of its short form with flagged runs alone."""
    synthetic.foreign(tmp_path)
    file, store = tmp_path / "two-racks.yml", tmp_path / "store"
    study = load(file, quick=request.param)
    disturbed = synthetic.setting({"flags": "interference", "message": "foreign CPU load 50 %"})
    synthetic.store_of(store, study, synthetic.runs_of(study, change=disturbed))
    freeze(study, store)
    return file, store, ["--quick"] * request.param


def advice(words, tmp_path) -> str:
    done = CliRunner().invoke(main, ["report", *map(str, words), "--site", str(tmp_path / "site")])
    assert done.exit_code == 4, done.output
    (cells, _) = re.findall("below the quality gate: .*", done.stderr)
    return cells


@pytest.mark.parametrize("flagged", [False, True], ids=["whole", "quick"], indirect=True)
def test_a_study_as_measured_is_named_by_the_file_that_was_given(flagged, tmp_path):
    file, store, quick = flagged
    said = advice([file, *quick, "--results", store], tmp_path)
    assert said.endswith(
        "; " + " ".join(["netlab study", str(file), *quick, "--results", str(store)])
    )
    assert "change your own file" not in said


@pytest.mark.parametrize("flagged", [False], indirect=True)
def test_a_file_that_was_changed_since_and_results_alone_leave_the_copy(flagged, tmp_path):
    file, store, quick = flagged
    copy = f"; netlab study {store}/study.yml --results {store}"
    said = advice([store], tmp_path)
    assert said.endswith(copy) and "change your own file" in said
    file.write_text(file.read_text().replace("[1, 64]", "[1, 32]"))
    assert advice([file, *quick, "--results", store], tmp_path).endswith(copy)


@pytest.mark.parametrize("flagged", [False], indirect=True)
def test_a_changed_file_without_a_short_form_leaves_the_copy(flagged, tmp_path):
    file, store, _ = flagged
    file.write_text(file.read_text().replace("sender: left", "sender: left, short: false"))
    assert f"netlab study {store}/study.yml" in advice([file, "--results", store], tmp_path)
