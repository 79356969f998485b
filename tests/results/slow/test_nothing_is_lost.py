"""Reports after an edit of the study and while a campaign writes: they state records alone."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import face_home
import measured_store
import pytest
import synthetic
import yaml

import netlab
from netlab import study
from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.report import publishing
from netlab.report.how_to_read import recorded_by
from netlab.results import campaign_files
from netlab.results.columns import RUN_COLUMNS
from netlab.results.parquet import read
from netlab.results.store import Store
from netlab.study.frozen import freeze

DATA_ONLY = publishing.ReportRequest(data_only=True)

LATER = "20260105T110000Z"


@pytest.fixture
def home(tmp_path, monkeypatch):
    return face_home.home_at(tmp_path, monkeypatch)


@pytest.fixture
def measured(home) -> Path:
    """Results of a campaign of two cells in three rounds, and their study's file beside them."""
    directory = home / "data" / "results" / "two-racks"
    measured_store.two_racks(directory)
    return directory


def text_of(site: Path) -> str:
    """The pages of a site as text, without tags."""
    pages = (page.read_text(encoding="utf-8") for page in sorted(site.glob("*.html")))
    return html.unescape(re.sub(r"<[^>]+>", " ", "\n".join(pages)))


def parts(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*.parquet")}


def edit(file: Path) -> None:
    """Change title, timing, streams, tunings, limits and precision of a study's file."""
    content = yaml.safe_load(file.read_text())
    content |= {"title": "An edited title", "streams": [2, 32], "seed": 4711, "confidence": 0.8}
    content["timing"] = {"seconds": 9.0, "warmup_s": 3.0, "interval_ms": 50}
    content["tunings"] = [{"name": "openlab-2003-full", "mtus_B": [9000]}]
    content["noise"] = {"steal_percent": 33.0, "retries": 8}
    content["precision"] = {"half_width_percent": 0.5}
    file.write_text(yaml.safe_dump(content))


def test_a_report_after_an_edit_of_the_study_states_what_was_recorded(home, measured):
    file, before = home / "data" / "two-racks.yml", parts(measured)
    edit(file)
    argv = ("report", str(file), "--results", str(measured), "--site", str(home / "site"))
    done = subprocess.run(
        (sys.executable, "-m", "netlab", *argv),
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    text = text_of(home / "site")
    for recorded in (
        *("& two racks", "6 runs of 1 s in up to 3 rounds", "1 s after 0.2 s of warm-up"),
        *("every 100 ms", f"seed {load_measured(measured).study.seed}", "steal above 5 %"),
        "measured again, 1 time at most",
        f"campaign {measured_store.CAMPAIGN}, netlab {netlab.__version__}. Its records count by "
        "the rule of its netlab: by campaign, not by settings found. "
        "Later edits of the study's file are not part of this report",
    ):
        assert recorded in text, recorded
    for edited in (
        *("edited title", "and 9 s", "runs of 9 s", "3 s of warm-up", "every 50 ms", "above 33 %"),
        *("seed 4711", "openlab-2003-full", "precision asked", "8 times at most"),
    ):
        assert edited not in text, edited
    assert parts(measured) == before
    runs = netlab.Results(measured, superseded=True).runs
    assert sorted(runs["streams"]) == [1, 1, 1, 64, 64, 64] and not runs["superseded"].any()


def test_runs_of_an_earlier_campaign_that_count_are_stated_as_such(measured):
    first = netlab.Results(measured).runs
    log = campaign_files.read_log(measured, measured_store.CAMPAIGN)
    (part, *_) = Store(measured).parts()
    taken = tuple(Store(measured).part("runs", part)["run_id"])
    later = campaign_files.CampaignLog(**{**vars(log), "campaign": LATER, "adopted": {part: taken}})
    freeze(load_measured(measured).study, campaign_files.folder(measured, LATER))
    campaign_files.write_log(measured, later)
    m = load_measured(measured)
    assert sorted(m.runs["run_id"]) == sorted(taken)
    recorded = recorded_by(m)
    assert f"campaign {LATER}" in recorded and f"{len(taken)} runs of earlier ones" in recorded
    assert len(netlab.Results(measured, superseded=True).runs) == len(first)


def campaign(directory: Path, written: set[tuple[str, str]]) -> Iterator[None]:
    """Write rounds of a later campaign into a directory, and name the rows that are there.

    Each visit is saved with one run, then with both, as a visit saves every few seconds.
    """
    of_later = study.load(synthetic.foreign_file(directory.parents[1]), rounds=500)
    runs = synthetic.runs_of(of_later, seed=9).assign(campaign=LATER)
    runs = runs.astype({"campaign": "string"})
    intervals = synthetic.intervals_of(runs[runs["round"] <= 2], of_later)
    begun = "2026-01-05T11:00:00+00:00"
    log = campaign_files.CampaignLog(
        LATER, "other", begun, of_later.name, of_later.digest(), "0.1.0"
    )
    freeze(of_later, campaign_files.folder(directory, LATER))
    campaign_files.write_log(directory, log)
    store = Store(directory)
    for (block, number), part in runs.groupby(["block_id", "round"]):
        name = campaign_files.part_name(LATER, f"{block}@r{number}", ())
        for rows in range(1, len(part) + 1):
            saved = part.head(rows)
            store.write(name, saved, intervals[intervals["run_id"].isin(saved["run_id"])])
            written |= rows_of(saved)
            yield


def rows_of(runs) -> set[tuple[str, str]]:
    return set(zip(runs["campaign"], runs["run_id"], strict=True))


def site_rows(site: Path) -> set[tuple[str, str]]:
    return rows_of(read(site / "downloads" / "runs.parquet", RUN_COLUMNS))


def test_a_report_while_its_campaign_writes_is_of_complete_rows_and_loses_none(measured, home):
    before, written, over = rows_of(netlab.Results(measured).runs), set(), threading.Event()
    visits = campaign(measured, written)
    for _ in range(3):
        next(visits)

    def write() -> None:
        while not over.wait(0.02):
            next(visits)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        made = publishing.publish(measured, home / "site", request=DATA_ONLY)
    finally:
        over.set()
        writer.join()
    assert made.index.is_file()
    shown = site_rows(home / "site")
    assert 3 <= len(shown) < len(written) and shown <= written
    every = netlab.Results(measured, superseded=True).runs
    assert rows_of(every) == before | written
    assert every["goodput_MBps"].notna().all()
    assert f"campaign {LATER}, netlab" in text_of(home / "site")


def test_a_campaign_that_begins_while_a_report_is_made_is_not_part_of_it(measured, home):
    before, written = rows_of(netlab.Results(measured).runs), set()
    visits = campaign(measured, written)
    publishing.publish(measured, home / "site", lambda *_: next(visits), DATA_ONLY)
    assert written and campaign_files.latest(measured) == LATER
    assert site_rows(home / "site") == before
    text = text_of(home / "site")
    assert "runs of 1 s in up to 3 rounds" in text and LATER not in text
    every = netlab.Results(measured, superseded=True).runs
    assert rows_of(every) == before | written


def test_a_campaign_without_a_row_yet_names_those_before_it(measured):
    log = campaign_files.read_log(measured, measured_store.CAMPAIGN)
    freeze(load_measured(measured).study, campaign_files.folder(measured, LATER))
    campaign_files.write_log(
        measured, campaign_files.CampaignLog(**{**vars(log), "campaign": LATER})
    )
    with pytest.raises(NetlabError) as caught:
        load_measured(measured)
    assert caught.value.code == "E-ANALYSIS-042" and measured_store.CAMPAIGN in str(caught.value)
    earlier = campaign_files.study_file(measured, measured_store.CAMPAIGN)
    assert len(load_measured(measured, earlier).runs) == 6
