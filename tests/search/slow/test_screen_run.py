"""A whole screen over a pretended path: campaigns, least set, confirmations."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic
from search.screened import SYSCTLS, screened_study

from netlab.experiment.watcher import Watcher
from netlab.results.store import Store
from netlab.search.screen.page import to_text
from netlab.search.screen.probe import Probed
from netlab.search.screen.record import read_screen, write_screen
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.study import Study

RECEIVE, SEND, SACK, *_ = NAMES = tuple(f"net.ipv4.{name}" for name in SYSCTLS)


def screened_over(directory: Path, ratios: dict[str, float], *, noise: float, seed: int = 3):
    """A screen of a path on which each knob has a ratio; its log and the studies measured."""
    measured: list[Study] = []

    def measure(study: Study, *, directory: Path, watcher: Watcher) -> None:
        def value(study, group, tuning, mtu_B, streams):
            goodput = 100.0
            for knob in study.tuning_profile("a", tuning).items:
                goodput *= ratios.get(getattr(knob, "name", "") or "", 1.0)
            return goodput, "CPU"

        scatter = noise if study.name.endswith("-screen") else 0.002
        runs = synthetic.runs_of(study, seed=seed, noise=scatter, value=value)
        synthetic.store_of(directory, study, runs)
        measured.append(study)

    lines: list[str] = []
    found = screen(
        ScreenRequest(screened_study(timing={"rounds": 3}), "mine"),
        directory,
        read=lambda ask: Probed(NAMES),
        measure=measure,
        say=lines.append,
    )
    return found, lines, measured


def test_a_screen_measures_the_design_and_then_the_least_set(tmp_path):
    found, lines, measured = screened_over(tmp_path, {RECEIVE: 1.5, SEND: 1.3}, noise=0.01)
    assert found.least_set == (RECEIVE, SEND) and found.verdict == "confirmed"
    assert [study.name for study in measured] == ["lab-test-screen", "lab-test-least"]
    assert len(Store(tmp_path / "effects").runs()) == found.runs == 16 * 3
    assert len(Store(tmp_path / "least-set").runs()) == 3 * 10
    assert lines == ["folded design: 6 knobs in 16 rows", f"least set: {RECEIVE}, {SEND}"]


def test_a_knob_that_the_least_set_lacks_is_added_after_its_confirmation_fails(tmp_path):
    """Its effect is hidden by the noise of the rows; the confirmation has more rounds."""
    found, _, measured = screened_over(tmp_path, {RECEIVE: 3.0, SACK: 1.12}, noise=0.2, seed=4)
    assert [one.knobs for one in found.tries] == [(RECEIVE,), (RECEIVE, SACK)]
    assert found.tries[0].whole.verdict == "slower" and found.verdict == "confirmed"
    assert len(measured) == 3
    assert (tmp_path / "least-set-2").is_dir()


@pytest.mark.parametrize(
    ("noise", "concluded", "text"),
    [(0.01, True, "empty, as no knob matters."), (0.4, False, "take more --rounds")],
)
def test_an_empty_least_set_is_not_compared_with_no_knob(tmp_path, noise, concluded, text):
    found, lines, measured = screened_over(tmp_path, {}, noise=noise)
    assert lines[-1] == "least set: no knob" and len(measured) == 1
    assert found.least_set == () and found.tries == () and found.concluded == concluded
    assert text in " ".join(to_text(found).split())
    assert read_screen(write_screen(found, tmp_path / "screen.json")).verdict == found.verdict
