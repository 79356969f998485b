"""Known limits: the confusion table of the words, and when its calibration fails."""

import json
import re

import guide
import pytest
from click.testing import CliRunner

from netlab.measure.bottleneck import VERDICTS
from netlab.qualify.commands import calibrate_command
from netlab.qualify.words.confusion import LEAST_RIGHT, KnownLimits
from netlab.qualify.words.truths import TRUTHS, WordsPlan

LOSS = next(truth for truth in TRUTHS if truth.word == "loss")
LINK = next(truth for truth in TRUTHS if truth.word == "link")
PLAN = WordsPlan((LINK, LOSS), repeats=10)


def sample(truth, word: str, *, left_out: bool = False) -> dict:
    return {"truth": truth.name, "expected": truth.word, "word": word, "left_out": left_out}


def words(*of_loss: str, left_out: int = 0) -> KnownLimits:
    right = [sample(LINK, "link") for _ in range(10)]
    others = [sample(LOSS, "foreign CPU", left_out=True) for _ in range(left_out)]
    return KnownLimits(PLAN, [*right, *(sample(LOSS, word) for word in of_loss), *others], {})


def test_the_page_of_calibration_names_every_limit():
    page = (guide.DOCS / "calibration.md").read_text(encoding="utf-8")
    assert [truth.name for truth in TRUTHS if truth.name not in page] == []


def test_every_word_but_unknown_and_those_of_buses_and_bonds_has_a_truth():
    assert len({truth.name for truth in TRUTHS}) == len(TRUTHS) == 16
    absent = {"bus", "one slave of the bond", "unknown"}
    assert {truth.word for truth in TRUTHS} == {*VERDICTS} - absent
    assert [group.path for group in PLAN.study.groups] == ["truth-0", "truth-1"]


def test_a_row_counts_each_word_that_the_runs_of_a_limit_were_given():
    frame = words(*["loss"] * 8, "window", "unknown", left_out=3).confusion.set_index("truth")
    assert list(frame.columns) == [
        *("word", "right", "runs", "left_out", "link", "window", "loss", "unknown"),
    ]
    assert frame.loc[LOSS.name].tolist() == ["loss", 8, 10, 3, 0, 1, 8, 1]
    assert frame.loc[LINK.name].tolist() == ["link", 10, 10, 0, 10, 0, 0, 0]


@pytest.mark.parametrize(
    ("of_loss", "complaint"),
    [
        (["loss"] * 9 + ["unknown"], None),
        (["loss"] * 8 + ["unknown"] * 2, f"1 of 2 known limits .*: {LOSS.name} .8 of 10."),
        # a limit all of whose runs are left out is not right
        ([], f"1 of 2 known limits .*: {LOSS.name} .0 of 0."),
    ],
)
def test_a_limit_with_fewer_than_nine_in_ten_right_is_a_complaint(of_loss, complaint):
    found = words(*of_loss, left_out=2).complaint
    assert LEAST_RIGHT == 0.9 and (found is None) == (complaint is None)
    assert complaint is None or re.search(complaint, found)


def test_the_words_are_stored_with_their_samples(tmp_path):
    path = words(*["loss"] * 10).save(tmp_path, "2026-11-29T190000Z")
    document = json.loads(path.read_text())
    assert document["started_at"] == "2026-11-29T190000Z" and len(document["samples"]) == 20
    assert [row["right"] for row in document["confusion"]] == [10, 10]
    assert (tmp_path / "words.csv").exists() and (tmp_path / "words.tex").exists()


@pytest.mark.parametrize(
    ("more", "unused"),
    [(("--rate", "100"), "--rate"), (("--only", "rates"), "--only"), (("--rtt", "1"), "--rtt")],
)
def test_options_of_other_parts_are_refused_beside_words(more, unused):
    done = CliRunner().invoke(calibrate_command, ["--words", *more])
    assert done.exit_code != 0 and f"does not use {unused}" in f"{done.output} {done.exception}"
