"""Flags are stored by the names that older stores have; unknown ones pass as they are."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pyarrow as pa

import netlab
from netlab.results.flags import (
    NOT_KNOWN,
    Flag,
    Validity,
    counted_flags,
    join_flags,
    known_flag,
    meaning_of,
    remedies,
    remedy_of,
    split_flags,
)

STORED = [
    *("stalled", "starved", "unsteady", "sender_only", "implausible", "ledger_mismatch"),
    *("interference", "tuning_drift", "counter_reset", "clock_step", "emulator_late"),
    *("lost_host", "failed"),
]
"""Names in stores of schema 10."""


def test_the_stored_names_are_those_of_older_stores():
    assert list(Flag) == STORED
    assert [type(flag.value) for flag in Flag] == [str] * len(STORED)


def test_a_flag_is_written_as_its_name():
    text = join_flags([Flag.STALLED, Flag.INTERFERENCE])
    assert text == "stalled,interference" and type(text) is str
    assert type(join_flags([Flag.FAILED])) is str
    assert f"{Flag.FAILED}" == json.loads(json.dumps(Flag.FAILED)) == "failed"
    assert pa.array([Flag.FAILED]).to_pylist() == ["failed"]


def test_a_value_of_the_column_is_split_into_its_flags():
    assert split_flags("stalled,interference") == ["stalled", "interference"]
    assert [split_flags(empty) for empty in ("", None, float("nan"))] == [[], [], []]


def test_a_flag_of_a_later_version_is_shown_as_it_is():
    assert split_flags("stalled,moonlight") == ["stalled", "moonlight"]
    assert known_flag("moonlight") is None and known_flag("stalled") is Flag.STALLED
    assert meaning_of("moonlight") == NOT_KNOWN
    assert "message" in remedy_of("moonlight")


def test_texts_for_readers_have_no_marks_of_code():
    for flag in Flag:
        for text in (meaning_of(flag), remedy_of(flag)):
            assert text and "`" not in text and not text.endswith(".")


def test_flags_of_runs_are_counted_in_words():
    assert counted_flags(["", "stalled", None, "stalled,failed"]) == "stalled 2, failed 1"
    assert counted_flags(["", None]) == ""


def test_what_to_do_follows_from_the_flags_and_not_from_one_of_them():
    lossy = remedies(["stalled", "", "stalled"], "measure again")
    assert lossy == f"{remedy_of('stalled')}; then measure again"
    assert "hosts" not in lossy, "a path that loses packets is not mended by quiet hosts"
    mixed = remedies(["stalled", "interference,stalled"], "measure again").split("; ")
    assert mixed[0] == f"stalled: {remedy_of('stalled')}"
    assert mixed[1].startswith("interference: end what else uses the hosts")
    assert remedies([""], "measure again") == "measure again"


def test_of_many_flags_the_most_frequent_are_named_and_the_page_for_the_others():
    text = remedies(["failed,stalled,starved,interference", *["starved"] * 3], "go on")
    assert text.startswith("starved: ") and "interference" not in text
    assert text.endswith("; others: netlab guide flags; then go on")


def test_every_class_of_flags_is_used_and_explained():
    assert {flag.validity for flag in Flag} == set(Validity)
    assert all(validity.meaning.endswith(".") for validity in Validity)


def test_no_code_writes_a_flag_as_text():
    """But for words that mean other things as well."""
    ambiguous = {"failed"}
    package = Path(netlab.__file__).parent
    written = {
        (path.relative_to(package).as_posix(), node.value)
        for path in package.rglob("*.py")
        if path.relative_to(package).as_posix() != "results/flags.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in set(STORED) - ambiguous
    }
    assert written == {("survey/findings.py", "unsteady")}
