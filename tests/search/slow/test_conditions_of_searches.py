"""Documents beside a store state no figure of other conditions than the report's runs."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path

import campaigns
import pandas as pd
import pytest
import synthetic
from search.screened import SYSCTLS, screened_study

from netlab.analysis.measured import load_measured
from netlab.errors import NetlabError
from netlab.experiment.campaign_record import CampaignRecord, open_record
from netlab.files.tables import csv_of
from netlab.files.writing import write_text
from netlab.report.pages import study_pages
from netlab.results import campaign_files
from netlab.search.mlrsearch.bounds import DOCUMENT, FOLDER, HEADS
from netlab.search.screen.page import screen_pages
from netlab.search.screen.probe import Probed
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import screen
from netlab.search.screen.written import write_files
from netlab.study import Study
from netlab.study.schedule import visits


def measured(directory: Path, facts: campaigns.Facts) -> CampaignRecord:
    record = open_record(campaigns.study(), directory, facts, None)
    campaigns.write(record, facts)
    return record


def searched(directory: Path, facts: campaigns.Facts, rates_MBps: float) -> pd.DataFrame:
    """Store bounds of every cell, as a search under these conditions does."""
    record = open_record(campaigns.study(), directory / FOLDER, facts, None)
    rows = [
        {
            **{"group": cell.split("@")[3], "cell": cell, "limit": "path", "trials": 9},
            **dict.fromkeys(HEADS, rates_MBps),
            **{"campaign": record.log.campaign, "cell_key": key, "message": ""},
        }
        for cell, key in record.conditions.keys.items()
    ]
    write_text(directory / FOLDER / DOCUMENT, csv_of(frame := pd.DataFrame(rows)))
    return frame


def page(directory: Path) -> str:
    pages = {page.file: page for page in study_pages(load_measured(directory))}
    return re.sub(r"<[^>]+>", " ", pages["mlrsearch.html"].body)


def test_bounds_that_were_found_under_another_setting_are_named_and_not_shown(tmp_path):
    reno, bbr = campaigns.facts("reno"), campaigns.facts("bbr")
    searched(tmp_path, reno, 12.25)
    measured(tmp_path, bbr)
    text = page(tmp_path)
    assert "12.25" not in text
    assert "Bounds of 4 cells are left out" in text and "congestion control reno" in text
    measured(tmp_path, reno)
    text = page(tmp_path)
    assert "12.25" in text and "left out" not in text
    # a search under the new conditions that is interrupted leaves the document of the one before
    open_record(campaigns.study(), tmp_path / FOLDER, bbr, None)
    assert "12.25" in page(tmp_path)
    measured(tmp_path, bbr)
    assert "12.25" not in page(tmp_path)


def test_bounds_of_a_link_with_another_card_are_left_out_alone(tmp_path):
    facts = campaigns.facts()
    searched(tmp_path, facts, 12.25)
    measured(tmp_path, campaigns.facts(p2="bnxt_en"))
    text = page(tmp_path)
    assert "Bounds of 2 cells are left out" in text
    assert "driver of the card mlx5_core" in text and text.count("12.25") > 0


def test_bounds_without_conditions_are_said_to_have_none(tmp_path):
    facts = campaigns.facts()
    frame = searched(tmp_path, facts, 12.25)
    write_text(tmp_path / FOLDER / DOCUMENT, csv_of(frame.drop(columns=["campaign", "cell_key"])))
    measured(tmp_path, facts)
    text = page(tmp_path)
    assert "12.25" in text and "An older netlab found them, and stored no conditions." in text


@pytest.mark.parametrize("content", ["", "a,b\n1,2\n", "\x89PNG\r\n", json.dumps({"a": 1})])
def test_a_foreign_file_of_that_name_is_named_on_its_page(tmp_path, content):
    measured(tmp_path, campaigns.facts())
    write_text(tmp_path / FOLDER / DOCUMENT, content)
    assert "cannot be read as bounds of a search" in page(tmp_path)


def test_bounds_whose_conditions_are_lost_are_left_out(tmp_path):
    searched(tmp_path, campaigns.facts("reno"), 12.25)
    place = tmp_path / FOLDER
    for campaign in campaign_files.ids(place):
        campaign_files.conditions_file(place, campaign).unlink()
    measured(tmp_path, campaigns.facts("bbr"))
    text = page(tmp_path)
    assert "12.25" not in text and "unknown (its conditions.json is lost)" in text


KNOB = "net.ipv4.tcp_rmem"


def ends_of(study: Study, congestion: str) -> campaigns.Facts:
    found = {"found": {"net.ipv4.tcp_congestion_control": congestion}}
    return {
        link: {end.host: {**campaigns.HOST, **found} for end in study.path(link).ends}
        for link in study.links
    }


def screen_at(place: Path, *defaults: str) -> None:
    """Screen hosts whose default congestion control is another one in each of its campaigns."""
    left = list(defaults)

    def value(study, group, tuning, mtu_B, streams):
        knobs = study.tuning_profile("a", tuning).values()
        return 100.0 * (2.0 if KNOB in knobs else 1.0), "CPU"

    def measure(study: Study, *, directory: Path, watcher: object) -> None:
        if not left:
            raise KeyboardInterrupt
        facts = ends_of(study, left.pop(0))
        record = open_record(study, directory, facts, None)
        keys: dict[str, str] = {}
        for visit in visits(study):
            keys |= campaigns.keys_of(study, visit, facts[visit.link])
        runs = synthetic.runs_of(study, noise=0.01, value=value)
        runs = runs.assign(provenance_key=runs["run_id"].map(keys).astype("string"), flags="")
        record.store.write(
            record.new_part(visits(study)[0]), runs, synthetic.intervals_of(runs, study)
        )

    names = tuple(f"net.ipv4.{name}" for name in SYSCTLS)
    ask = ScreenRequest(screened_study(timing={"rounds": 3}), "mine")
    write_files(screen(ask, place, read=lambda _: Probed(names), measure=measure), place)


def test_effects_and_their_confirmation_have_the_same_conditions(tmp_path):
    with pytest.raises(NetlabError, match="congestion control reno, now bbr; screen") as caught:
        screen_at(tmp_path, "reno", "bbr", "bbr")
    assert caught.value.code == "E-SCREEN-013" and not (tmp_path / "screen.json").exists()
    screen_at(tmp_path, "bbr", "bbr")
    assert (tmp_path / "screen.json").is_file()


def pages_of(results: Path) -> str:
    campaign = campaign_files.latest(results)
    bodies = "".join(page.body for page in screen_pages(results, campaign))
    return html.unescape(re.sub(r"<[^>]+>", " ", bodies))


def test_a_screen_of_other_conditions_than_the_studys_runs_says_so(tmp_path):
    place = tmp_path / "screens" / "mine"
    screen_at(place, "reno", "reno")
    study = screened_study(timing={"rounds": 3})
    open_record(study, tmp_path, ends_of(study, "reno"), None)
    assert "other settings" not in pages_of(tmp_path)
    open_record(study, tmp_path, ends_of(study, "bbr"), None)
    text = pages_of(tmp_path)
    assert "under other settings than the study's runs: congestion control reno." in text
    with pytest.raises(KeyboardInterrupt):
        screen_at(place, "bbr")  # interrupted before its confirmation
    text = pages_of(tmp_path)
    assert "A later screen was begun under other settings" in text
    assert "(congestion control reno, now bbr) and has not ended" in text
