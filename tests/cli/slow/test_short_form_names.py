"""One resolution of a name: where the short form alone was measured, every command finds it."""

from __future__ import annotations

import os
import shutil

import face_home
import pytest
from click.testing import CliRunner

import netlab
from netlab.cli import loading, main, options
from netlab.errors import BadInput
from netlab.files import paths


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Results of the short form of the openlab study, made up; what commands note."""
    face_home.home_at(tmp_path, monkeypatch)
    notes: list[str] = []
    monkeypatch.setattr(options, "note", notes.append)
    return face_home.measured_openlab(), notes


def test_commands_and_python_take_the_short_form_where_it_alone_was_measured(quick):
    directory, notes = quick
    for named in (["openlab-2003"], ["openlab-2003", "--quick"], [str(directory), "--quick"]):
        listed = CliRunner().invoke(main, ["results", "list", *named])
        assert listed.exit_code == 0 and "openlab-2003-quick" in listed.output, listed.output
    file = str(paths.study_file("openlab-2003"))
    for named in ([file], [file, "--quick"]):
        shown = CliRunner().invoke(main, ["results", "show", *named])
        assert shown.exit_code == 0 and f"results: {directory}" in shown.output, shown.output
    for named in ("openlab-2003", "data/studies/openlab-2003.yml"):
        study, place, _ = loading.load_measured_study(named, quick=False, results=None)
        assert (study.name, place) == ("openlab-2003-quick", None)
        assert "the short form, which was measured last" in notes.pop()
    assert set(netlab.Results("openlab-2003").runs["study"]) == {"openlab-2003-quick"}
    assert directory == paths.results_dir("openlab-2003-quick")


def test_the_form_measured_last_is_taken_and_a_named_one_always(quick):
    directory, notes = quick
    whole = paths.results_dir("openlab-2003")
    shutil.copytree(directory, whole)
    for file in whole.rglob("*"):
        os.utime(file, (4e9, 4e9))
    study, *_ = loading.load_measured_study("openlab-2003", quick=False, results=None)
    assert study.name == "openlab-2003" and not notes
    study, *_ = loading.load_measured_study("openlab-2003", quick=True, results=None)
    assert study.name == "openlab-2003-quick"
    study, *_ = loading.load_measured_study("openlab-2003", quick=False, results=directory)
    assert study.name == "openlab-2003"


def test_the_name_of_results_is_enough_where_no_study_has_it(quick):
    """A study of one's own, whose file lies elsewhere by now."""
    directory, _ = quick
    named = "openlab-2003-quick"
    study, *_ = loading.load_measured_study(named, quick=False, results=None)
    assert study.name == named and loading.notebooks_of(study, named) is None
    with pytest.raises(BadInput, match=r"by name there are .* has results of openlab-2003-quick"):
        loading.load_measured_study("openlab-2004", quick=False, results=None)
    renamed = paths.results_dir("renamed")
    shutil.copytree(directory, renamed)
    with pytest.raises(BadInput, match=f"{renamed}: holds runs of 'openlab-2003-quick'; a dir"):
        loading.load_measured_study("renamed", quick=False, results=None)
    searched = f"no such file; by name there are .*; {directory} holds runs of '{named}'"
    with pytest.raises(BadInput, match=searched):
        loading.load_measured_study("openlab-2004", quick=False, results=directory)
    own = paths.results_dir("mine-quick")
    shutil.copytree(directory, own)
    for file in own.rglob("study.yml"):
        file.write_text(file.read_text().replace(f"name: {named}", "name: mine-quick"))
    study, *_ = loading.load_measured_study("mine", quick=False, results=None)
    assert study.name == "mine-quick"


def test_a_name_without_results_is_refused_with_the_directory_that_was_searched(
    tmp_path, monkeypatch
):
    face_home.home_at(tmp_path, monkeypatch)
    for named, results, searched in (
        ("nothing", None, f"{paths.results_root()} has no results"),
        ("nothing", tmp_path / "there", f"{tmp_path / 'there'} holds no results"),
    ):
        with pytest.raises(BadInput, match=f"; {searched} "):
            loading.load_measured_study(named, quick=False, results=results)
    renamed = paths.results_dir("renamed")
    shutil.copytree(paths.data_dir() / "examples" / "agreement", renamed)
    with pytest.raises(BadInput, match=f"^{renamed}: holds runs of 'agreement-quick'"):
        loading.load_measured_study("renamed", quick=False, results=None)


def test_the_directory_that_run_prints_is_enough_for_report_and_bundle(quick, tmp_path):
    """Of results that lie anywhere, and whose name is no study's."""
    directory, _ = quick
    moved = shutil.move(directory, tmp_path / "my results, day 2")
    study, place, _ = loading.load_measured_study(str(moved), quick=False, results=None)
    assert (study.name, place) == ("openlab-2003-quick", moved)
    assert loading.notebooks_of(study, str(moved)) is None
    own = tmp_path / "own"
    own.mkdir()
    shutil.copy(paths.study_file("openlab-2003"), own / "study.yml")  # a study, without results
    with pytest.raises(BadInput, match="is a directory, not a study file"):
        loading.load_measured_study(str(own), quick=False, results=None)


def test_a_name_is_that_of_a_study_before_that_of_a_directory_here(quick, tmp_path, monkeypatch):
    directory, _ = quick
    for name in ("openlab-2003", "my-runs"):
        shutil.copytree(directory, tmp_path / "here" / name)
    monkeypatch.chdir(tmp_path / "here")
    study, place, _ = loading.load_measured_study("openlab-2003", quick=True, results=None)
    assert (study.name, place) == ("openlab-2003-quick", None)
    study, place, _ = loading.load_measured_study("my-runs", quick=False, results=None)
    assert (study.name, place) == ("openlab-2003-quick", tmp_path / "here" / "my-runs")
