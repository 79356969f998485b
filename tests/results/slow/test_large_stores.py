"""Stores of many campaigns: a line shows what all columns would, and costs a fraction of them."""

import shutil
import statistics
import time
import warnings
from pathlib import Path

import large_store
import pandas as pd
import pytest
from large_store import Size

from netlab.analysis.measured import load_measured
from netlab.analysis.over_campaigns import trend, trend_of
from netlab.analysis.sides import comparison
from netlab.charts import study_charts as charts
from netlab.report.gate import MOST_LEFT_OUT, box
from netlab.results import campaign_files
from netlab.results.campaign_list import summaries
from netlab.results.store import Damaged, Store

SIZE = Size(paths=1, streams=1, rounds=2, campaigns=8, samples=5)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("large") / "racks"
    large_store.write(directory, SIZE)
    return directory


def files_of(directory: Path, campaign: str) -> list[Path]:
    folder = campaign_files.folder(directory, campaign)
    return [*directory.glob(f"*/{campaign}~*"), *folder.iterdir()]


def test_each_campaign_has_a_line_of_its_own_runs_and_the_last_one_supersedes(directory):
    found = summaries(directory)
    assert [one.campaign for one in found] == campaign_files.ids(directory)
    assert {one.runs for one in found} == {one.valid for one in found} == {SIZE.runs}
    assert [one.superseded for one in found] == [SIZE.runs] * (SIZE.campaigns - 1) + [0]
    for one in found:
        assert one.size_B == sum(f.stat().st_size for f in files_of(directory, one.campaign))


def test_a_line_without_a_log_says_what_its_records_do(directory, tmp_path):
    lost = campaign_files.ids(directory)[0]
    log = campaign_files.folder(directory, lost) / "campaign.json"
    aside = log.rename(tmp_path / log.name)
    try:
        (line,) = (one for one in summaries(directory) if one.campaign == lost)
    finally:
        aside.rename(log)
    own = Store(directory).made_by(lost)
    assert (line.study, line.study_digest) == ("racks", own["study_digest"].unique().item())
    assert line.started_at == own["started_at"].min().isoformat(timespec="seconds")
    assert (line.log, line.runs) == (None, SIZE.runs)


def test_lines_cost_less_than_half_of_reading_every_column(directory):
    """CPU time of both in turn, median of five."""

    def cpu_s(work) -> float:
        before_s = time.process_time()
        work()
        return time.process_time() - before_s

    pairs = [
        (cpu_s(lambda: summaries(directory)), cpu_s(Store(directory).records)) for _ in range(5)
    ]
    assert statistics.median(lines / whole for lines, whole in pairs) < 0.5


def test_a_comparison_reads_no_sample_and_finds_what_all_columns_say(directory, tmp_path):
    copy = shutil.copytree(directory, tmp_path / "copy")
    measured = load_measured(directory)
    for samples in (copy / "intervals").iterdir():
        samples.write_bytes(b"not Parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = comparison([copy], by="tuning=as-found,full")
    whole = comparison([measured], by="tuning=as-found,full")
    pd.testing.assert_frame_equal(found.compared.frame, whole.compared.frame)
    pd.testing.assert_frame_equal(found.differences, whole.differences)


def test_the_runs_that_count_are_those_of_all_records_that_are_not_superseded(directory):
    store = Store(directory)
    for campaign in (None, campaign_files.ids(directory)[0]):
        records = store.records(campaign=campaign)
        wanted = records[~records["superseded"]].drop(columns=["part", "superseded"])
        wanted = wanted.sort_values("order", ignore_index=True)
        pd.testing.assert_frame_equal(store.runs(campaign=campaign), wanted)
        runs, samples = store.block(campaign=campaign)
        pd.testing.assert_frame_equal(runs, wanted)
        parts = sorted(set(records["part"][~records["superseded"]]))
        every = pd.concat([store.part("intervals", part) for part in parts], ignore_index=True)
        pd.testing.assert_frame_equal(samples, every)


def test_the_trend_is_that_of_the_runs_that_each_campaign_made(directory):
    store, measured = Store(directory), load_measured(directory)
    campaigns = campaign_files.ids(directory)
    whole = ((one, store.runs(campaign=one)) for one in campaigns)
    own = [(one, runs[runs["campaign"] == one]) for one, runs in whole]
    found = trend(measured)
    assert len(found) == SIZE.campaigns
    pd.testing.assert_frame_equal(found, trend_of(own, measured.study.confidence))


def test_many_campaigns_are_drawn_with_few_names():
    frame = pd.DataFrame(
        {
            "campaign": [f"20260101T{n:06}Z" for n in range(200)],
            **{"level": 1.0, "ratio": 1.1, "step": True},
        }
    )
    ax = charts.trend(frame)
    assert len(ax.get_xticks()) <= charts.MOST_NAMED
    assert not ax.texts
    assert len(charts.trend(frame.head(3)).texts) == 3


def test_the_box_names_the_latest_campaigns_that_do_not_count_and_counts_the_others(directory):
    (text,) = (text for item, text in box(load_measured(directory)) if item == "Not counted")
    before = SIZE.campaigns - 1 - MOST_LEFT_OUT
    assert text.count("; not counted") == MOST_LEFT_OUT
    assert f"{before * SIZE.runs} runs of {before} campaigns before" in text


def test_samples_are_read_when_asked_for_and_a_damaged_file_of_them_is_named_at_once(
    directory, tmp_path
):
    copy = shutil.copytree(directory, tmp_path / "copy")
    whole = Store(copy).intervals()
    part = sorted((copy / "intervals").iterdir())[-1]
    lost = set(Store(copy).part("intervals", part.stem)["run_id"])
    part.write_bytes(b"not Parquet")
    with pytest.warns(Damaged, match="is not a parquet file"):
        measured = load_measured(copy)
    assert len(measured.damaged) == 1
    left = whole[~whole["run_id"].isin(lost)].reset_index(drop=True)
    pd.testing.assert_frame_equal(measured.intervals, left)
    one = left["run_id"].iloc[0]
    some = left[left["run_id"] == one].reset_index(drop=True)
    pd.testing.assert_frame_equal(measured.samples({one}), some)
