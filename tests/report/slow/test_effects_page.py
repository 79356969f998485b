"""The page of effects has one correction, and no interval of what was measured once."""

import null_pages
import numpy as np
import pytest
import synthetic
from scipy import stats

from netlab.analysis.answers import step_effects
from netlab.report import tables
from netlab.report.view_pages import view_pages


@pytest.mark.parametrize("rounds", [3, 6])
def test_steps_that_change_nothing_are_rarely_faster_or_slower_on_a_page(rounds, tmp_path):
    """Uncorrected, seven of ten such pages of three rounds have a false verdict."""
    wrong = 0
    for measured in null_pages.null_pages(tmp_path, rounds, 25):
        frame = step_effects(measured)
        assert frame["contexts"].sum() == null_pages.CASES
        wrong += int(frame[["faster", "slower"]].sum().sum() > 0)
    assert wrong <= 5


def test_the_interval_of_a_step_is_of_its_rounds_at_the_level_of_all_steps(tmp_path):
    (measured,) = null_pages.null_pages(tmp_path, 3, 1)
    logs = np.log(measured.runs.pivot_table("goodput_MBps", ["group", "round"], "streams"))
    changes = logs.diff(axis=1).iloc[:, 1:].groupby("round").mean()
    steps = changes.shape[1]
    half = stats.t.ppf(1 - 0.05 / steps / 2, 2) * changes.std(ddof=1) / np.sqrt(3)
    frame = step_effects(measured)
    assert frame["low"].to_numpy() == pytest.approx(np.exp(changes.mean() - half).to_numpy())
    assert frame["high"].to_numpy() == pytest.approx(np.exp(changes.mean() + half).to_numpy())


def test_a_step_measured_once_has_no_interval(tmp_path):
    """Cases of one round that agree to a hundredth do not make a certain effect."""
    (measured,) = null_pages.null_pages(tmp_path, 1, 1)
    frame = step_effects(measured)
    assert frame[["low", "high"]].isna().all(axis=None)
    assert frame["no interval"].tolist() == frame["contexts"].tolist()
    table = tables.effects(measured)
    assert not table.frame["ratio"].str.contains(" to ", regex=False).any()
    assert "fewer than 3 rounds" in table.note


def test_a_step_of_a_single_case_has_the_interval_of_its_rounds(tmp_path):
    (measured,) = null_pages.null_pages(tmp_path, 6, 1)
    one = measured.runs[measured.runs["group"] == null_pages.GROUPS[0]]
    frame = step_effects(null_pages.again(measured, one))
    assert (frame["contexts"] == 1).all() and frame["low"].notna().all()


def test_the_page_says_for_how_many_steps_and_cases_it_is_corrected(tmp_path):
    (measured,) = null_pages.null_pages(tmp_path, 3, 1)
    note = tables.effects(measured).note
    assert "One correction for the page" in note and "7 steps" in note and "21 cases" in note
    page = next(page for page in view_pages(measured) if page.file == "effects.html")
    assert "One correction for the page" in page.body


def test_the_page_counts_the_cases_on_each_side():
    def value(study, group, tuning, mtu_B, streams):
        return (1000.0 if streams == 1 else 1200.0), "CPU"

    measured = synthetic.measured(noise=0.001, value=value)
    table = step_effects(measured).set_index(["factor", "from_level", "to_level"])
    first = table.loc[("streams", "1", "4")]
    assert (first["faster"], first["slower"], first["contexts"]) == (35, 0, 35)
    assert first["ratio"] == pytest.approx(1.2, rel=0.01) and first["low"] < 1.2 < first["high"]
