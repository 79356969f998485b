"""Commands of searches: one message for each mistake, and what their help says."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from command_mistakes import cannot_go_on

from netlab.cli import main

ENDS = [
    ("autotune lab --study no-such", 2, "no-such"),
    ("autotune a-b --study turbo.yml", 2, "turbo"),
    ("autotune nowhere --study lab.yml", 2, "a-b"),
    ("autotune a-b --study lab.yml --seconds 3", 2, "seconds"),
    ("autotune a-b --study lab.yml --seconds nan", 2, "seconds"),
    ("autotune a-b --study lab.yml --seconds soon", 2, "soon"),
    ("autotune a-b --study lab.yml --tuning fast", 2, "tuning"),
    ("autotune a-b --study lab.yml --sender c", 2, "sender"),
    ("autotune a-b --study lab.yml --mtu 1", 2, "mtu"),
    ("autotune a-b --study lab.yml --streams 0", 2, "streams"),
    ("autotune a-b --study lab.yml --chart x.pdf", 2, "chart"),
    ("autotune a-b --study lab.yml --output x.json", 2, "output"),
    ("autotune a-b --study lab.yml --for luck", 2, "luck"),
    ("screen lab.yml --tuning openlab-2003-full --output best.txt", 2, "E-CLI-025"),
    ("screen lab.yml --tuning openlab-2003-full --same-within 200", 2, "E-SCREEN-006"),
    ("screen lab.yml --tuning openlab-2003-full --group other", 2, "E-SCREEN-010"),
    ("screen lab.yml --tuning openlab-2003-full --seconds 0", 2, "E-"),
]


@pytest.mark.parametrize(("argv", "code", "words"), ENDS)
def test_a_command_that_cannot_go_on_says_why(tmp_path, monkeypatch, argv, code, words):
    cannot_go_on(tmp_path, monkeypatch, argv, code, words)


def test_the_help_of_a_search_describes_factors_output_and_exit_codes():
    text = " ".join(CliRunner().invoke(main, ["autotune", "--help"]).output.split())
    for part in (
        *("record length", "socket buffer", "streams and engine", "shuffled rounds", "interval"),
        *("no better than what you had", "YAML", "JSON", "--seconds", "30 s", "Exit code 1"),
    ):
        assert part in text
