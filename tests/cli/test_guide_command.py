"""``netlab guide`` shows a page of the documentation, and refuses an unknown one."""

from __future__ import annotations

import guide
import pytest
from click.testing import CliRunner

from netlab.cli import main
from netlab.results.flags import Flag, in_plain, meaning_of


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ((), "Guide"),
        (("columns",), "Columns"),
        (("flags",), "Flags: why a run does not count"),
        (("study.md",), "Writing a study"),
        (("PROTOCOL",), "protocol"),
    ],
)
def test_a_page_is_shown_without_its_markup(words, title):
    done = CliRunner().invoke(main, ["guide", *words], env={"COLUMNS": "100"})
    assert done.exit_code == 0, done.output
    assert title in "\n".join(done.stdout.splitlines()[:4])
    assert "\n# " not in done.stdout and "```" not in done.stdout and "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_the_name_of_a_flag_shows_what_to_do_about_it_alone():
    done = CliRunner().invoke(main, ["guide", "Ledger_mismatch"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "ledger_mismatch" in done.stdout and in_plain(Flag.LEDGER_MISMATCH.remedy) in done.stdout
    assert "stalled" not in done.stdout


@pytest.mark.parametrize("flag", Flag)
def test_the_name_of_a_flag_shows_its_meaning_and_its_class(flag):
    done = CliRunner().invoke(main, ["guide", flag], env={"COLUMNS": "1000"})
    assert done.exit_code == 0, done.output
    assert meaning_of(flag).lower() in done.stdout.lower()
    assert f"Its run is {flag.validity}." in done.stdout


def test_another_word_is_refused_with_the_names_of_the_pages():
    done = CliRunner().invoke(main, ["guide", "columms"])
    assert done.exit_code == 2 and "E-CLI-034" in done.stderr
    for page in guide.DOCS.glob("*.md"):
        assert page.stem in done.stderr
