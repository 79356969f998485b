"""Stores of many campaigns: a line shows what all columns would, and costs a fraction of them."""

import statistics
import time
from pathlib import Path

import large_store
import pytest
from large_store import Size

from netlab.results import store as results_store
from netlab.results.store import Store, summaries

SIZE = Size(paths=1, streams=1, rounds=2, campaigns=8, samples=5)


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("large") / "racks"
    large_store.write(directory, SIZE)
    return directory


def files_of(directory: Path, campaign: str) -> list[Path]:
    folder = results_store.folder(directory, campaign)
    return [*directory.glob(f"*/{campaign}~*"), *folder.iterdir()]


def test_each_campaign_has_a_line_of_its_own_runs_and_the_last_one_supersedes(directory):
    found = summaries(directory)
    assert [one.campaign for one in found] == results_store.ids(directory)
    assert {one.runs for one in found} == {one.valid for one in found} == {SIZE.runs}
    assert [one.superseded for one in found] == [SIZE.runs] * (SIZE.campaigns - 1) + [0]
    for one in found:
        assert one.size_B == sum(f.stat().st_size for f in files_of(directory, one.campaign))


def test_a_line_without_a_log_says_what_its_records_do(directory, tmp_path):
    lost = results_store.ids(directory)[0]
    log = results_store.folder(directory, lost) / "campaign.json"
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
