"""Documents beside a store state no figure of other conditions than the report's runs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import campaigns
import pandas as pd
import pytest

from netlab.analysis.bounds import DOCUMENT, FOLDER, HEADS
from netlab.analysis.measured import load_measured
from netlab.experiment.campaign import CampaignRecord, open_record
from netlab.files.tables import csv_of
from netlab.files.writing import write_text
from netlab.report.pages import measured_pages
from netlab.results import store as results_store


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
    pages = {page.file: page for page in measured_pages(load_measured(directory))}
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
    for campaign in results_store.ids(place):
        results_store.conditions_file(place, campaign).unlink()
    measured(tmp_path, campaigns.facts("bbr"))
    text = page(tmp_path)
    assert "12.25" not in text and "unknown (its conditions.json is lost)" in text
