"""Bundles and results of others are data: none of their notebooks, files and paths is executed."""

from __future__ import annotations

import json
import shutil

import measured_store
import nbformat
import pytest
from bundle.forged import sealed
from click.testing import CliRunner
from nbformat import v4

from netlab.bundle import bundling, verify
from netlab.bundle.pack import bundle
from netlab.cli import main
from netlab.errors import NetlabError
from netlab.files.archive import pack, unpack
from netlab.study.report_pages import report_notebooks

pytestmark = pytest.mark.timeout(600)

CAMPAIGN_STUDY = f"campaigns/{measured_store.CAMPAIGN}/study.yml"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("home")
    measured_store.two_racks(place / "results" / "two-racks")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NETLAB_HOME", str(place))
        yield place


@pytest.fixture(scope="module")
def whole(home, tmp_path_factory):
    place = tmp_path_factory.mktemp("whole")
    bundle(home / "results" / "two-racks", place / "first.zip")
    unpack(place / "first.zip", place / "first")
    return place / "first"


@pytest.fixture
def trap(tmp_path):
    """Writes notebooks that leave a file behind when they are executed; gives that file."""
    sprung = tmp_path / "sprung"

    def notebook(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        cell = v4.new_code_cell(f"open({str(sprung)!r}, 'a').write({file.name!r})")
        nbformat.write(v4.new_notebook(cells=[cell]), file)

    notebook.sprung = sprung
    return notebook


def naming(study, *names):
    """Make a study name these notebooks."""
    study.write_text(f"{study.read_text()}report: {{notebooks: {json.dumps(names)}}}\n")


def netlab(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_verify_executes_no_notebook_of_a_bundle(whole, tmp_path, trap):
    forged = shutil.copytree(whole, tmp_path / "forged")
    trap(forged / "results" / "campaigns" / measured_store.CAMPAIGN / "evil.ipynb")
    trap(tmp_path / "absolute.ipynb")
    names = ("evil.ipynb", str(tmp_path / "absolute.ipynb"), "../../absolute", "14-claims")
    naming(forged / "results" / CAMPAIGN_STUDY, *names)
    done = netlab("verify", sealed(forged, tmp_path / "forged.zip"))
    assert not trap.sprung.exists(), trap.sprung.read_text()
    assert done.exit_code == 1, "the site has no page of what the forged study names"
    found = done.output.splitlines()
    assert found[-1].startswith("0 files differ, ") and "not publishable" not in done.output
    assert "left out 'evil.ipynb', a notebook of the bundle's own" in done.output


def test_verify_of_changed_files_recomputes_nothing(whole, tmp_path, monkeypatch):
    forged = shutil.copytree(whole, tmp_path / "forged")
    with open(forged / "results" / CAMPAIGN_STUDY, "a") as study:
        study.write("# changed\n")
    monkeypatch.setattr(bundling, "other_figures", None)
    done = netlab("verify", pack(forged, tmp_path / "forged.zip"))
    assert done.exit_code == 1
    assert done.output.endswith("1 file differs; the figures were not recomputed\n")


def test_verify_says_when_this_machine_has_no_namespaces(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(verify.rootless, "reading", lambda directory: ("false",))
    monkeypatch.setattr(verify, "RECOMPUTE", "raise SystemExit('no records')")
    said = []
    (found,) = verify.other_figures(whole, tmp_path, said.append)
    assert "with network and write access" in said[0]
    assert found.now == "not publishable: no records"


def test_report_of_results_from_elsewhere_executes_no_notebook_of_theirs(whole, tmp_path, trap):
    results = shutil.copytree(whole / "results", tmp_path / "theirs")
    study = results / CAMPAIGN_STUDY
    trap(study.parent / "evil.ipynb")
    trap(tmp_path / "absolute.ipynb")
    naming(study, "evil.ipynb", str(tmp_path / "absolute.ipynb"))
    site = tmp_path / "site"
    done = netlab("report", study, "--results", results, "--site", site)
    assert not trap.sprung.exists(), trap.sprung.read_text()
    assert done.exit_code in (0, 4), done.output
    assert "left out 'evil.ipynb', 'absolute.ipynb': " in done.output
    index = (site / "index.html").read_text()
    assert "evil.ipynb, absolute.ipynb" in index and "netlab report FILE" in index


def test_report_of_ones_own_study_says_which_notebooks_it_executes(home, tmp_path, trap):
    results = home / "results" / "two-racks"
    mine = shutil.copy(home / "two-racks.yml", tmp_path / "mine.yml")
    naming(mine, "own.ipynb")
    trap(tmp_path / "own.ipynb")
    done = netlab("report", mine, "--results", results, "--site", tmp_path / "site")
    assert done.exit_code in (0, 4), done.output
    said = f"runs the study's own notebooks: {tmp_path / 'own.ipynb'}"
    assert done.output.index(said) < done.output.index("Done") and "left out" not in done.output
    assert trap.sprung.read_text() == "own.ipynb" and (tmp_path / "site" / "own.html").is_file()


def test_rerun_takes_the_study_of_a_bundle_without_any_file_that_it_names(
    whole, tmp_path, monkeypatch
):
    forged = shutil.copytree(whole, tmp_path / "forged")
    trap_beside = forged / "evil.ipynb"
    nbformat.write(v4.new_notebook(), trap_beside)
    naming(forged / "study.yml", "evil.ipynb", str(trap_beside))
    measured = []

    def measure(study, *_given):
        measured.append(study)
        raise NetlabError("not measured here")

    monkeypatch.setattr(bundling, "measure", measure)
    file = sealed(forged, tmp_path / "forged.zip")
    done = netlab("rerun", file, "--results", tmp_path / "again")
    assert done.exit_code == 1 and "not measured here" in done.output
    assert report_notebooks(measured[0].report) == ()
