"""Every study has a short form: its own, or one derived from its timing."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from openlab import CONTENT, OPENLAB, changed

from netlab.errors import BadInput
from netlab.files.paths import data_dir
from netlab.study import load
from netlab.study.short import short_form

WITHOUT = {key: value for key, value in CONTENT.items() if key != "quick"}


def written(tmp_path: Path, content: dict) -> Path:
    path = tmp_path / "mine.yml"
    path.write_text(yaml.safe_dump(content))
    return path


def timed(tmp_path: Path, **timing: float) -> Path:
    """A study without ``quick``, with this timing."""
    return written(tmp_path, {**WITHOUT, "timing": timing})


def test_a_study_without_quick_has_fewer_and_shorter_runs(tmp_path):
    path = timed(tmp_path, rounds=5, seconds=8.0, warmup_s=1.5, interval_ms=100, drain_s=7.0)
    short = load(path, quick=True)
    assert short.name == "openlab-2003-quick"
    assert short.timing.model_dump() == {
        "rounds": 2,
        "seconds": 2.0,
        "warmup_s": 1.5,
        "interval_ms": 100,
        "drain_s": 7.0,
    }
    assert short.groups == load(path).groups


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0.2, 0.2), (0.5, 0.5), (1.0, 0.5), (4.0, 1.0), (3600.0, 10.0)]
)
def test_a_short_run_has_a_quarter_of_the_seconds_within_limits(tmp_path, seconds, expected):
    assert load(timed(tmp_path, seconds=seconds), quick=True).timing.seconds == expected


def test_a_short_form_never_has_more_rounds_than_the_study(tmp_path):
    assert load(timed(tmp_path, rounds=1), quick=True).timing.rounds == 1


def test_a_short_run_has_samples_enough(tmp_path):
    timing = load(timed(tmp_path, seconds=1.0, interval_ms=1000), quick=True).timing
    assert timing.interval_ms * 5 <= timing.seconds * 1000


def test_a_short_run_is_long_enough_for_the_loss_that_it_forces():
    slac = load(data_dir() / "studies" / "slac-2003.yml")
    assert any(group.force_loss_at_s is not None for group in slac.groups)
    at_s = 0.9 * slac.timing.seconds
    late = tuple(
        group.model_copy(update={"force_loss_at_s": at_s if group.force_loss_at_s else None})
        for group in slac.groups
    )
    short = short_form(slac.model_copy(update={"quick": None, "groups": late}), "slac")
    assert short.timing.seconds == slac.timing.seconds
    assert short.timing.rounds <= 2


def test_the_form_that_a_study_gives_itself_comes_first():
    assert load(OPENLAB, quick=True).timing.seconds == CONTENT["quick"]["seconds"]


def test_a_derived_form_and_given_timing_go_together(tmp_path):
    study = load(timed(tmp_path, rounds=5, seconds=8.0), quick=True, seconds=0.7)
    assert (study.timing.rounds, study.timing.seconds) == (2, 0.7)


@pytest.mark.parametrize(
    ("content", "key", "said"),
    [
        ({**WITHOUT, "name": "x" * 43}, "name", "shorten it to 42"),
        ({**WITHOUT, "name": "mine-quick"}, "name", "already"),
        (
            {**WITHOUT, "groups": [{**group, "short": False} for group in CONTENT["groups"]]},
            "groups",
            "no group",
        ),
    ],
)
def test_a_study_that_cannot_be_shortened_is_refused(tmp_path, content, key, said):
    path = written(tmp_path, content)
    assert load(path)
    with pytest.raises(BadInput, match=said) as caught:
        load(path, quick=True)
    assert caught.value.key == key


def test_the_longest_name_has_a_derived_form(tmp_path):
    path = written(tmp_path, {**changed("name", "x" * 42), "quick": None})
    assert load(path, quick=True).name == "x" * 42 + "-quick"
