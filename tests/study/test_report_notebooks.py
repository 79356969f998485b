"""A study names the notebooks of its report: netlab's by name, its own beside its file."""

from __future__ import annotations

import pytest
import synthetic
from refusals import refused

from netlab.errors import BadInput
from netlab.files import paths
from netlab.study import load, load_stored
from netlab.study.file import freeze, frozen_text
from netlab.study.published import ReportPages, report_notebooks


@pytest.fixture
def study_of(tmp_path):
    """A study with these notebooks in its report, and its file."""

    def made(*names):
        synthetic.foreign(tmp_path)  # writes two-racks.yml
        file = tmp_path / "two-racks.yml"
        text = file.read_text() + f"report:\n  notebooks: [{', '.join(names)}]\n"
        file = tmp_path / "named.yml"
        file.write_text(text)
        return load(file), file

    return made


def test_a_notebook_beside_the_study_is_found_from_anywhere(study_of, tmp_path, monkeypatch):
    (tmp_path / "mine.ipynb").write_text("{}")
    study, file = study_of("mine.ipynb", "14-claims")
    monkeypatch.chdir("/")
    own, claims = report_notebooks(study.report, file)
    assert own == tmp_path / "mine.ipynb" and claims == paths.notebook("14-claims.ipynb")


def test_a_study_beside_results_has_no_notebook_but_those_of_netlab(study_of, tmp_path):
    (tmp_path / "mine.ipynb").write_text("{}")
    study, _ = study_of(str(tmp_path / "mine.ipynb"), "../14-claims", "14-claims.ipynb")
    kept = load_stored(freeze(study, tmp_path / "results"))
    assert kept.report.notebooks == ("mine.ipynb", "14-claims", "14-claims.ipynb")
    (tmp_path / "results" / "mine.ipynb").write_text("{}")
    for one in (study, kept.model_copy(update={"report": ReportPages(notebooks=("mine.ipynb",))})):
        assert set(report_notebooks(one.report)) <= {paths.notebook("14-claims.ipynb")}


@pytest.mark.parametrize("place", ["", "campaigns/20260105T100000Z/", "../"])
def test_a_study_inside_results_or_a_bundle_reads_no_other_file(study_of, tmp_path, place):
    _, mine = study_of()
    results = tmp_path / "theirs" / "results"
    (results / "runs").mkdir(parents=True)
    file = results / place / "study.yml"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = f"{mine.read_text()}published: theirs.yml\n"
    for one in (mine, file):
        one.write_text(text)
        theirs = "title: Theirs\nsource: a file\nfile: theirs.csv\n"
        (one.parent / "theirs.yml").write_text(theirs)
        (one.parent / "theirs.csv").write_text("streams,goodput_MBps\n1,98.5\n")
    assert load(mine).published is not None and not paths.is_stored(mine)
    assert paths.is_stored(file)
    with pytest.raises(BadInput, match="published"):
        load(file)


def named(made):
    study, file = made
    return study.report, file


def test_a_notebook_that_does_not_exist_is_refused(study_of):
    with refused(BadInput, "E-STUDY-085", match=r"nowhere\.ipynb"):
        report_notebooks(*named(study_of("nowhere.ipynb")))


def test_two_notebooks_of_one_name_are_refused(study_of, tmp_path):
    (tmp_path / "14-claims.ipynb").write_text("{}")
    with refused(BadInput, "E-STUDY-084"):
        report_notebooks(*named(study_of("14-claims.ipynb", "14-claims")))


def test_what_is_reported_changes_neither_the_digest_nor_the_campaign(study_of):
    (one, _), (other, _) = study_of(), study_of("14-claims")
    assert one.report != other.report
    assert one.digest() == other.digest() and frozen_text(one) == frozen_text(other)


def test_the_studies_of_2003_name_the_notebooks_of_2003():
    for name in ("openlab-2003", "slac-2003"):
        names = [file.name for file in report_notebooks(load(paths.study_file(name)).report)]
        assert "12-slac-2003.ipynb" in names and "14-claims.ipynb" in names
    for name in ("agreement", "sc-2003"):
        assert load(paths.study_file(name)).report is None
