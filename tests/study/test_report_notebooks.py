"""A study names the notebooks of its report: netlab's by name, its own beside its file."""

from __future__ import annotations

import pytest
import synthetic

from netlab.errors import BadInput
from netlab.files import paths
from netlab.study import load
from netlab.study.frozen import freeze, frozen_text
from netlab.study.pages import report_notebooks


@pytest.fixture
def study_of(tmp_path):
    """A study with these notebooks in its report."""

    def made(*names):
        synthetic.foreign(tmp_path)  # writes two-racks.yml
        file = tmp_path / "two-racks.yml"
        text = file.read_text() + f"report:\n  notebooks: [{', '.join(names)}]\n"
        file = tmp_path / "named.yml"
        file.write_text(text)
        return load(file)

    return made


def test_a_notebook_beside_the_study_is_found_from_anywhere(study_of, tmp_path, monkeypatch):
    (tmp_path / "mine.ipynb").write_text("{}")
    study = study_of("mine.ipynb", "14-claims")
    monkeypatch.chdir("/")
    own, claims = report_notebooks(study.report)
    assert own == tmp_path / "mine.ipynb" and claims == paths.notebook("14-claims.ipynb")
    copy = load(freeze(study, tmp_path / "results"))
    assert report_notebooks(copy.report) == (own, claims)


def test_a_notebook_that_does_not_exist_is_refused(study_of):
    with pytest.raises(BadInput, match=r"nowhere\.ipynb") as caught:
        report_notebooks(study_of("nowhere.ipynb").report)
    assert caught.value.code == "E-STUDY-085"


def test_two_notebooks_of_one_name_are_refused(study_of, tmp_path):
    (tmp_path / "14-claims.ipynb").write_text("{}")
    with pytest.raises(BadInput) as caught:
        report_notebooks(study_of("14-claims.ipynb", "14-claims").report)
    assert caught.value.code == "E-STUDY-084"


def test_what_is_reported_changes_neither_the_digest_nor_the_campaign(study_of):
    one, other = study_of(), study_of("14-claims")
    assert one.report != other.report
    assert one.digest() == other.digest() and frozen_text(one) == frozen_text(other)


def test_the_studies_of_2003_name_the_notebooks_of_2003():
    for name in ("openlab-2003", "slac-2003"):
        names = [file.name for file in report_notebooks(load(paths.study_file(name)).report)]
        assert "12-slac-2003.ipynb" in names and "14-claims.ipynb" in names
    for name in ("agreement", "sc-2003"):
        assert load(paths.study_file(name)).report is None
