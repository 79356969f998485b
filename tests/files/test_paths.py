"""Where the data files are looked for."""

from pathlib import Path

import pytest

from netlab.errors import BadInput
from netlab.files import paths


def test_the_environment_decides_first(tmp_path, monkeypatch):
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path))
    assert paths.data_dir() == tmp_path.resolve()


def test_a_checkout_has_its_own_data(monkeypatch):
    monkeypatch.delenv("NETLAB_DATA", raising=False)
    assert (paths.data_dir() / "published").is_dir()


def test_a_variable_that_names_no_directory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("NETLAB_DATA", str(tmp_path / "absent"))
    with pytest.raises(BadInput, match="NETLAB_DATA: is not a directory"):
        paths.data_dir()


def test_an_installation_without_data_says_what_to_set(tmp_path, monkeypatch):
    monkeypatch.delenv("NETLAB_DATA", raising=False)
    monkeypatch.setattr(paths, "_CHECKOUT_DATA", tmp_path / "data")
    with pytest.raises(BadInput, match="set NETLAB_DATA"):
        paths.data_dir()


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
