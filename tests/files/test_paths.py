"""Where the data files are looked for."""

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
