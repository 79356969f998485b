"""What a study names beside its file: a published table, and the notebooks of its report."""

from __future__ import annotations

import pytest
import synthetic
from refusals import refused

from netlab.errors import BadInput
from netlab.files import paths
from netlab.study import load, load_stored
from netlab.study.frozen import freeze, frozen_text
from netlab.study.keys import provenance_key
from netlab.study.report_pages import ReportPages, report_notebooks
from netlab.study.schedule import visits

STUDY = """\
netlab: 1
name: mine
title: Mine
hosts: {left: {kind: lab}, right: {kind: lab}}
paths:
  cable: {ends: [{host: left}, {host: right}], link: {}}
groups:
  - {name: one, path: cable, sender: left}
tunings: [{name: plain, mtus_B: [1500, 9000], knobs: []}]
streams: [1]
factors: {record_length_B: [1024, 65536]}
"""
TABLE = """\
title: Theirs
source: A paper, table 1
file: theirs.csv
columns: {payload: record_length_B, MTU: mtu_B, Gb/s: goodput_Gbps}
fluctuation_percent: 2
"""
CSV = "MTU,payload,Gb/s\n1500,1024,1.6\n1500,65536,2.4\n\n9000,1024,2.0\n9000,65536,4\n"


@pytest.fixture
def place(tmp_path):
    (tmp_path / "mine.yml").write_text(STUDY + "published: theirs.yml\n")
    (tmp_path / "theirs.yml").write_text(TABLE)
    (tmp_path / "theirs.csv").write_text(CSV)
    return tmp_path


def test_a_table_beside_the_study_or_in_it_is_read_in_MB_a_second(place):
    table = load(place / "mine.yml").published
    assert (table.title, table.fluctuation_percent) == ("Theirs", 2)
    assert table.factors == ("mtu_B", "record_length_B")
    assert table.cells[0] == {"mtu_B": 1500, "record_length_B": 1024, "goodput_MBps": 200.0}
    assert [cell["goodput_MBps"] for cell in table.cells] == [200, 300, 250, 500]
    lines = "".join(f"  {line}\n" for line in TABLE.splitlines())
    whole = load(place / "mine.yml").published
    (place / "mine.yml").write_text(f"{STUDY}published:\n{lines}")
    assert load(place / "mine.yml").published == whole


def test_a_table_stays_with_the_frozen_study_and_changes_no_key(place, tmp_path):
    with_table = load(place / "mine.yml")
    (place / "mine.yml").write_text(STUDY)
    without = load(place / "mine.yml")
    assert with_table.digest() == without.digest()
    for one, other in zip(visits(with_table), visits(without), strict=True):
        for a, b in zip(one.runs, other.runs, strict=True):
            assert provenance_key(with_table, one, a, {}) == provenance_key(without, other, b, {})
    kept = freeze(with_table, tmp_path / "kept")
    assert load(kept).published == with_table.published


@pytest.mark.parametrize(
    ("csv", "code", "line"),
    [
        ("MTU,payload\n1500,1024\n", "E-STUDY-079", 1),
        ("MTU,MTU,Gb/s\n1500,1500,1\n", "E-STUDY-079", 1),
        ("MTU,payload,Gb/s\n1500,1024,1\n9000,1024\n", "E-STUDY-080", 3),
        ("MTU,payload,Gb/s\n1500,1024,much\n", "E-STUDY-081", 2),
        ("MTU,payload,Gb/s\n1500,1024,0\n", "E-STUDY-081", 2),
    ],
)
def test_a_mistake_in_the_table_is_named_with_its_line(place, csv, code, line):
    (place / "theirs.csv").write_text(csv)
    with refused(BadInput, code, match=f"theirs.csv:{line}: "):
        load(place / "mine.yml")


def test_a_table_that_is_not_there_or_elsewhere_is_refused(place):
    (place / "theirs.csv").unlink()
    with refused(BadInput, "E-STUDY-078", match=r"theirs\.csv"):
        load(place / "mine.yml")
    (place / "mine.yml").write_text(STUDY + "published: ../theirs.yml\n")
    with refused(BadInput, "E-STUDY-077", match="theirs.yml"):
        load(place / "mine.yml")


def test_a_column_that_is_no_factor_is_refused(place):
    (place / "theirs.csv").write_text("MTU,colour,Gb/s\n1500,red,1\n")
    with refused(BadInput, "E-STUDY-082", match=r"mine\.yml:12: .*colour"):
        load(place / "mine.yml")


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


def test_a_notebook_that_does_not_exist_and_two_of_one_name_are_refused(study_of, tmp_path):
    with refused(BadInput, "E-STUDY-085", match=r"nowhere\.ipynb"):
        report_notebooks(*named(study_of("nowhere.ipynb")))
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
