"""A store and its study are loaded together, or refused with a clear message."""

import os

import pytest
import synthetic
import yaml
from refusals import refused

from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.files import paths
from netlab.results.store import Damaged


def test_a_store_is_loaded_with_its_study(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    m = load_measured(tmp_path / "store", tmp_path / "two-racks.yml")
    assert m.study == foreign and len(m.runs) == 2 and len(m.cells) == 2
    assert m.cells["interval_from"].tolist() == ["within a run"] * 2
    assert m.table(m.groups[0], "bottleneck").shape == (1, 2)


def test_results_of_the_quick_timing_are_recognised(tmp_path):
    quick = studies.load(synthetic.openlab_file(), quick=True)
    runs = synthetic.runs_of(quick, change=synthetic.only(tuning=("none",), streams=(1,)))
    synthetic.store_of(tmp_path / "quick", quick, runs)
    m = load_measured(tmp_path / "quick", synthetic.openlab_file())
    assert m.study.name == "openlab-2003-quick" and len(m.cells) == 140


def test_a_store_of_one_torn_file_holds_no_runs(tmp_path, foreign):
    synthetic.store_of(tmp_path / "store", foreign)
    (victim,) = (tmp_path / "store" / "runs").glob("*.parquet")
    victim.write_bytes(victim.read_bytes()[:200])
    with (
        pytest.warns(Damaged, match="cannot be read as results"),
        pytest.raises(NetlabError, match="holds no runs"),
    ):
        load_measured(tmp_path / "store", tmp_path / "two-racks.yml")


def freeze(study, directory):
    content = study.model_dump(mode="json") | {"quick": None}
    (directory / "study.yml").write_text(yaml.safe_dump(content), encoding="utf-8")


def quick_store(directory):
    """A few quick results, with the study frozen beside them."""
    quick = studies.load(synthetic.openlab_file(), quick=True)
    quick = quick.model_copy(update={"title": "as it was measured"})
    runs = synthetic.runs_of(quick, change=synthetic.only(tuning=("none",), streams=(1,)))
    synthetic.store_of(directory, quick, runs)
    freeze(quick, directory)
    return quick


def test_the_study_frozen_beside_the_results_is_used(tmp_path):
    quick = quick_store(tmp_path / "results")
    m = load_measured(str(tmp_path / "results"), "openlab-2003")
    assert m.study.title == quick.title and (m.cells["n_valid"] > 0).sum() == 10


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A place of its own for data and results, with the openlab study; its quick results' path."""
    study = synthetic.openlab_file().read_bytes()
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "openlab-2003.yml").write_bytes(study)
    (tmp_path / "tunings").symlink_to(synthetic.data_dir() / "tunings")
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    return paths.results_dir("openlab-2003-quick")


def test_of_the_whole_and_the_short_form_the_one_measured_last_is_loaded(home, openlab):
    quick_store(home)
    assert load_measured("", "openlab-2003").study.name == "openlab-2003-quick", "the only one"
    whole = paths.results_dir("openlab-2003")
    few = synthetic.only(tuning=("none",), streams=(1,))
    synthetic.store_of(whole, openlab, synthetic.runs_of(openlab, change=few))
    freeze(openlab, whole)
    assert load_measured("", "openlab-2003").study.name == "openlab-2003"
    later = (whole / "study.yml").stat().st_mtime + 5
    os.utime(home / "study.yml", (later, later))
    assert load_measured("", "openlab-2003").study.name == "openlab-2003-quick"
    assert load_measured("", "openlab-2003-quick").study.name == "openlab-2003-quick"
    assert load_measured(whole).study == openlab.model_copy(update={"quick": None})


def test_results_are_loaded_by_a_name_that_no_file_has(home, tmp_path, foreign):
    for place in (paths.results_dir("two-racks"), tmp_path / "store"):
        synthetic.store_of(place, foreign)
        freeze(foreign, place)
    assert load_measured("", "two-racks").study == foreign
    assert load_measured(tmp_path / "store", "two-racks").study == foreign


def test_a_renamed_directory_is_refused_by_name_with_the_path_that_is_taken(home, foreign):
    place = paths.results_dir("first-day")
    synthetic.store_of(place, foreign)
    freeze(foreign, place)
    with refused(NetlabError, "E-ANALYSIS-018") as refusal:
        load_measured("", "first-day")
    *_, named = str(refusal.value).split()
    assert load_measured(named).study == foreign


def test_a_relative_directory_is_taken_from_here_or_else_from_the_checkout(
    tmp_path, foreign, monkeypatch
):
    synthetic.store_of(tmp_path / "store", foreign)
    freeze(foreign, tmp_path / "store")
    monkeypatch.chdir(tmp_path)
    assert load_measured("store").results == tmp_path / "store"
    (tmp_path / "data" / "studies").mkdir(parents=True)
    (tmp_path / "data" / "tunings").symlink_to(synthetic.data_dir() / "tunings")
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("NETLAB_HOME")
    monkeypatch.chdir("/")
    assert load_measured("store").results == tmp_path / "store"


@pytest.mark.parametrize(
    ("results", "study", "code"),
    [
        ("nowhere", "openlab-2003", "E-ANALYSIS-014"),
        ("empty", "openlab-2003", "E-ANALYSIS-011"),
        ("unfrozen", "openlab-2003", "E-ANALYSIS-012"),
        ("frozen", "openlab-2003", "E-ANALYSIS-012"),
        ("frozen", "three-racks", "E-ANALYSIS-018"),
        ("frozen", "/gone.yml", "E-FILES-006"),
        ("", "openlab-2003-quick", "E-ANALYSIS-014"),
        ("", "", "E-ANALYSIS-013"),
    ],
)
def test_results_that_are_not_those_of_a_study_are_refused(home, foreign, results, study, code):
    place = home.parents[1] / "stores"
    (place / "empty").mkdir(parents=True)
    for name in ("unfrozen", "frozen"):
        synthetic.store_of(place / name, foreign)
    freeze(foreign, place / "frozen")
    with refused(NetlabError, code):
        load_measured(results and place / results, study)
