"""An SSH name on the command line becomes the keys of a study's host."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from refusals import refused

from netlab.cli.main import main
from netlab.cli.studies import reached
from netlab.errors import BadInput

NAMES = {
    "left": ("left", None, None),
    "me@left.example.org": ("left.example.org", "me", None),
    "left:2222": ("left", None, 2222),
    "me@192.0.2.1:22": ("192.0.2.1", "me", 22),
    "2001:db8::1": ("2001:db8::1", None, None),
    "me@2001:db8::1": ("2001:db8::1", "me", None),
    "me@[2001:db8::1]:2222": ("2001:db8::1", "me", 2222),
}


@pytest.mark.parametrize(("text", "parts"), NAMES.items())
def test_a_name(text, parts):
    found = reached(text, "key")
    assert (found["address"], found["user"], found["port"]) == parts
    assert found["identity_file"] == "key"


@pytest.mark.parametrize("text", ["", "me@", "a@b@c", "left:port"])
def test_what_is_no_name(text):
    with refused(BadInput, "E-CLI-024"):
        reached(text, None)


def test_a_host_that_no_study_may_have_is_bad_input(tmp_path):
    done = CliRunner().invoke(main, ["init", "left", "-x y", "-o", str(tmp_path / "a.yml")])
    assert done.exit_code == 2
    assert not (tmp_path / "a.yml").exists()


def test_one_host_twice_is_bad_input(tmp_path):
    done = CliRunner().invoke(main, ["init", "me@left", "left", "-o", str(tmp_path / "a.yml")])
    assert done.exit_code == 2
    assert "E-SURVEY-004" in done.output


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    from netlab.survey import init

    monkeypatch.setattr(init, "open_all", lambda _: None)
    monkeypatch.setattr(init, "survey", lambda _: None)
    monkeypatch.setattr(init, "find_paths", lambda *_: ())
    monkeypatch.setattr(init, "findings", lambda _: ())
    monkeypatch.setattr(init, "study_text", lambda *_: "")
    hosts = ({"address": "left"}, {"address": "right"})
    with refused(BadInput, "E-SURVEY-005", match="No such file or directory"):
        init.init_study(hosts, output=tmp_path / "none" / "a.yml")
