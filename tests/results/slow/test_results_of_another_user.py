"""Results that this user may not read: an error that says so, and nothing is moved or left out."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import face_home
import measured_store
import pytest
import synthetic
from click.testing import CliRunner

import netlab
from netlab import study as studies
from netlab.cli import main
from netlab.files import paths
from netlab.results import campaign_files
from netlab.results.campaign_files import Conditions


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """Deny the reading of a place below the results `mine`; tests run as root, who may read all."""
    face_home.home_at(tmp_path, monkeypatch)
    (tmp_path / "mine.yml").write_text(synthetic.FOREIGN)
    paths.results_dir("mine").mkdir(parents=True)
    measured_store.campaign_of(paths.results_dir("mine"), studies.load(tmp_path / "mine.yml"))

    last = campaign_files.latest(paths.results_dir("mine"))
    campaign_files.write_conditions(paths.results_dir("mine"), last, Conditions())

    def deny(pattern: str) -> Path:
        place = next(paths.results_root().glob(pattern)) if pattern else paths.results_root()

        def checked(read):
            def of(path, *rest, **more):
                if isinstance(path, str | Path) and Path(path).is_relative_to(place):
                    raise PermissionError(13, "Permission denied", str(path))
                return read(path, *rest, **more)

            return of

        for name in ("open", "listdir"):
            monkeypatch.setattr(os, name, checked(getattr(os, name)))
        monkeypatch.setattr(os, "access", lambda path, *_mode, **_how: str(path) != str(place))
        return place

    return deny


PLACES = ("mine/campaigns", "mine/runs", "mine/runs/*.parquet", "mine/campaigns/*/conditions.json")


@pytest.mark.parametrize("pattern", PLACES)
@pytest.mark.parametrize("command", ["list", "show", "repair"])
def test_a_command_names_what_cannot_be_read_and_advises_no_repair(closed, pattern, command):
    place = closed(pattern)
    before = sorted(paths.results_root().rglob("*"))
    done = CliRunner().invoke(main, ["results", command, "mine"])
    assert done.exit_code == 1 and str(place) in done.output, done.output
    assert "may not read" in done.output
    assert "repair" not in done.output and "write" not in done.output
    written = {".lock", "lock"}
    after = [p for p in sorted(paths.results_root().rglob("*")) if p.name not in written]
    assert after == before


@pytest.mark.parametrize("pattern", PLACES)
def test_a_caller_gets_the_error_of_the_file_and_no_figures_of_the_others(closed, pattern):
    place = closed(pattern)
    with pytest.raises(PermissionError) as raised:
        assert netlab.Results("mine").runs is None
    assert Path(raised.value.filename).is_relative_to(place)


def test_a_root_of_results_that_cannot_be_read_does_not_read_as_empty(closed):
    place = closed("")
    done = CliRunner().invoke(main, ["results", "list"])
    assert done.exit_code == 1 and f"{place}: Permission denied" in done.output
    done = CliRunner().invoke(main, ["results", "list", "nothing"])
    assert f"{place}/nothing" in done.output and "may not read" in done.output


def test_a_short_form_that_is_not_there_is_named_as_one(tmp_path, monkeypatch):
    face_home.home_at(tmp_path, monkeypatch)
    shutil.copytree(paths.example("agreement"), paths.results_dir("mine"))
    listed = CliRunner().invoke(main, ["results", "list", "--quick"])
    assert "no results of a short form; without --quick there are mine" in listed.output
    assert "'mine-quick'" in CliRunner().invoke(main, ["results", "list", "mine", "--quick"]).output
