"""Directories of data and results: in a checkout, in an installation, by the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.errors import BadInput
from netlab.files import paths

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch):
    monkeypatch.delenv(paths.DATA, raising=False)
    monkeypatch.delenv(paths.HOME, raising=False)


@pytest.fixture
def installed(tmp_path, monkeypatch) -> Path:
    """An installed package's data, and an empty current directory."""
    data = tmp_path / "site-packages" / "netlab" / "_data"
    for folder in ("published", "studies", "tunings", "notebooks"):
        (data / folder).mkdir(parents=True)
    (data / "studies" / "mine.yml").write_text("netlab: 1\n")
    (data / "notebooks" / "00-start-here.ipynb").write_text("{}")
    (tmp_path / "work").mkdir()
    monkeypatch.setattr(paths, "_CHECKOUT", tmp_path / "site-packages")
    monkeypatch.setattr(paths, "_INSTALLED_DATA", data)
    monkeypatch.chdir(tmp_path / "work")
    return data


def test_a_checkout_has_its_own_data_unless_the_environment_names_a_directory(
    tmp_path, monkeypatch
):
    assert (paths.data_dir() / "published").is_dir()
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    assert paths.data_dir() == tmp_path.resolve()
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path / "absent"))
    with pytest.raises(BadInput, match="NETLAB_DATA: is not a directory"):
        paths.data_dir()


def test_an_installation_without_data_names_the_variable_to_set(installed, monkeypatch):
    monkeypatch.setattr(paths, "_INSTALLED_DATA", installed / "absent")
    with pytest.raises(BadInput, match="set NETLAB_DATA"):
        paths.data_dir()


def test_a_checkout_keeps_results_below_data_and_finds_its_studies_by_name_and_path(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert paths.results_dir("mine") == ROOT / "data" / "results" / "mine"
    assert paths.site_dir() == ROOT / "site"
    assert paths.notebooks_dir() == ROOT / "notebooks"
    assert paths.notebook("00-start-here.ipynb").is_file()
    monkeypatch.chdir(tmp_path)
    file = ROOT / "data" / "studies" / "openlab-2003.yml"
    for given in ("openlab-2003", "data/studies/openlab-2003.yml", str(file)):
        assert paths.study_file(given) == file
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    assert paths.study_file("data/studies/openlab-2003.yml") == file


def test_an_installation_has_its_data_inside_and_writes_into_the_current_directory(installed):
    here = Path.cwd()
    (installed.parent.parent / "data").mkdir()  # does not make it a checkout
    assert paths.data_dir() == installed
    assert paths.notebooks_dir() == installed / "notebooks"
    assert paths.notebook("00-start-here.ipynb").parent == installed / "notebooks"
    assert paths.results_dir("mine") == here / "results" / "mine"
    assert paths.site_dir() == here / "site"
    assert not any(
        place.is_relative_to(installed.parent)
        for place in (paths.results_root(), paths.site_dir(), paths.root_dir())
    )


@pytest.mark.parametrize("name", ["notebooks", "work"])
def test_a_copy_of_the_notebooks_shares_results_with_the_directory_it_is_in(
    name, installed, monkeypatch
):
    work = Path.cwd()
    copied = work / name
    copied.mkdir()
    monkeypatch.chdir(copied)
    assert paths.root_dir() == copied
    (copied / "00-start-here.ipynb").write_text("{}")
    assert paths.root_dir() == work
    assert paths.results_dir("mine") == work / "results" / "mine"
    assert paths.given_path("site") == work / "site"


def test_a_copy_of_the_notebooks_in_work_keeps_the_results_that_it_has(installed, monkeypatch):
    copied = Path.cwd() / "work"
    (copied / "results").mkdir(parents=True)
    (copied / "00-start-here.ipynb").write_text("{}")
    monkeypatch.chdir(copied)
    assert paths.root_dir() == copied


def test_a_study_beside_the_user_comes_before_the_one_that_is_shipped(installed):
    shipped = installed / "studies" / "mine.yml"
    assert paths.study_file("mine") == paths.study_file("data/studies/mine.yml") == shipped
    with pytest.raises(BadInput, match=r"by name there are mine .*yours"):
        paths.study_file("yours")
    own = Path.cwd() / "data" / "studies" / "mine.yml"
    own.parent.mkdir(parents=True)
    own.write_text("netlab: 1\n")
    assert paths.study_file("data/studies/mine.yml") == own


@pytest.mark.parametrize("checkout", [True, False])
def test_netlab_home_takes_results_and_site_but_not_the_data(
    checkout, tmp_path, monkeypatch, request
):
    if not checkout:
        request.getfixturevalue("installed")
    data = paths.data_dir()
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path / "home"))
    assert paths.results_dir("mine") == tmp_path / "home" / "results" / "mine"
    assert paths.site_dir() == tmp_path / "home" / "site"
    assert paths.data_dir() == data


def test_netlab_home_may_be_relative_or_below_the_users_home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for given in ("lab", "~/lab"):
        monkeypatch.setenv("NETLAB_HOME", given)
        assert paths.root_dir() == tmp_path / "lab"


def test_given_data_keep_their_results_beside_them(tmp_path, monkeypatch):
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    assert paths.results_dir("mine") == tmp_path.resolve() / "results" / "mine"
    assert paths.notebooks_dir() == ROOT / "notebooks"


def test_a_relative_path_is_taken_from_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert paths.given_path("site") == tmp_path / "site"
    assert paths.given_path("/site") == Path("/site")
    assert paths.given_path("~/site") == Path.home() / "site"


def test_a_notebook_in_the_checkout_and_papermill_above_it_mean_the_same_path(monkeypatch):
    root = paths.root_dir()
    monkeypatch.chdir(root)
    above = paths.given_path("site")
    monkeypatch.chdir(root / "notebooks")
    assert paths.given_path("site") == above == root / "site"


def test_a_directory_or_a_device_is_said_to_be_one(tmp_path):
    for given, kind in ((tmp_path, "a directory"), ("/dev/null", "a device")):
        with pytest.raises(BadInput, match=f"is {kind}") as caught:
            paths.study_file(given)
        assert caught.value.code == "E-FILES-015" and caught.value.where == str(given)


def test_a_study_beside_a_folder_of_ones_own_is_not_stored(tmp_path):
    """Training runs, or the results of `--results .`, once made tunings beside it vanish."""
    mine = tmp_path / "mine.yml"
    (tmp_path / "runs").mkdir()
    assert not paths.is_stored(mine)
    (tmp_path / "runs" / "p@a.parquet").write_bytes(b"")
    assert not paths.is_stored(mine) and paths.is_stored(tmp_path / "study.yml")
    frozen = tmp_path / "campaigns" / "20260102T030405Z" / "study.yml"
    assert paths.is_stored(frozen)


def test_a_bundle_and_its_results_are_stored(tmp_path):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    (tmp_path / "results" / "runs" / "p@a.parquet").write_bytes(b"")
    assert paths.is_stored(tmp_path / "study.yml")
