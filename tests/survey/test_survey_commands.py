"""Commands that find the path between two hosts: mistakes, and names of hosts."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from command_mistakes import cannot_go_on
from refusals import refused

from netlab.errors import BadInput
from netlab.results.flags import remedy_of
from netlab.survey import init, paths
from netlab.survey.short_study import _remedy
from netlab.survey.surveyed import HostSurvey

ENDS = [
    ("measure left", 2, "E-CLI-035"),
    ("measure a@b@c right", 2, "E-SURVEY-009"),
    ("measure me@left left", 2, "E-SURVEY-004"),
    ("measure left right --streams 0", 2, "0 is not in the range"),
    ("init left '-x y' -o a.yml", 2, "No such option"),
    ("init me@left left -o a.yml", 2, "E-SURVEY-004"),
]


@pytest.mark.parametrize(("argv", "code", "words"), ENDS)
def test_a_command_that_cannot_go_on_says_why(tmp_path, monkeypatch, argv, code, words):
    cannot_go_on(tmp_path, monkeypatch, argv, code, words)


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
    found = paths.login_of(text, "key")
    assert (found["address"], found["user"], found["port"]) == parts
    assert found["identity_file"] == "key"


@pytest.mark.parametrize("text", ["", "me@", "a@b@c", "left:port"])
def test_what_is_no_name(text):
    with refused(BadInput, "E-SURVEY-009"):
        paths.login_of(text)


def test_a_directory_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "survey", lambda host: HostSurvey(host.name, boot_id=host.name))
    for module, name, found in (
        (paths, "open_all", None),
        (paths, "find_paths", ()),
        (init, "findings", ()),
        (init, "study_text", ""),
    ):
        monkeypatch.setattr(module, name, lambda *_, found=found: found)
    hosts = ({"address": "left"}, {"address": "right"})
    with refused(BadInput, "E-SURVEY-005", match="No such file or directory"):
        init.init_study(hosts, output=tmp_path / "none" / "a.yml")


def test_the_advice_on_a_disturbed_path_follows_from_the_flags_of_its_runs():
    runs = pd.DataFrame({"flags": ["failed", "interference"]})
    losing = {"flags": "stalled", "burst_s": math.nan}
    assert _remedy(losing, runs) == f"{remedy_of('stalled')}; then measure again"
    assert remedy_of("failed") in _remedy({}, runs), "no run has a goodput"
    busy = {"flags": "interference", "burst_s": math.nan}
    assert _remedy(busy, runs).startswith("end what else uses the hosts")
