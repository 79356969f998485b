"""A campaign before the latest, by its name, in every command and call that reads results."""

import os
import re
import shutil

import pandas as pd
import pytest
import synthetic
from click.testing import CliRunner
from refusals import refused

import netlab
from netlab import study as studies
from netlab.cli.main import main
from netlab.errors import BadInput
from netlab.results import campaign_files
from netlab.results.campaign_files import CampaignLog, named_campaign
from netlab.results.store import Store
from netlab.study.frozen import freeze

FIRST, SECOND = "20260102T030405Z", "20260203T040506Z"
RATES_MBPS = {FIRST: 100.0, SECOND: 700.0}


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Results of two campaigns, of other rates."""
    place = tmp_path_factory.mktemp("campaigns")
    study = studies.load(synthetic.foreign_file(place))
    directory = place / "results"
    for days, (campaign, rate_MBps) in enumerate(RATES_MBPS.items()):

        def changed(row, days=days, campaign=campaign, rate_MBps=rate_MBps):
            row["campaign"], row["goodput_MBps"] = campaign, rate_MBps
            row["started_at"] += pd.Timedelta(days=days)
            return True

        runs = synthetic.runs_of(study, change=changed)
        log = CampaignLog(campaign, "k", "then", study.name, study.digest(), "0.1.0")
        campaign_files.write_log(directory, log)
        freeze(study, campaign_files.folder(directory, campaign))
        samples = synthetic.intervals_of(runs, study)
        Store(directory).write(f"{campaign}~all@r1", runs, samples)
    return directory


def names(directory, campaign):
    """Ways to name a campaign."""
    return f"{directory}@{campaign}", str(campaign_files.study_file(directory, campaign))


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("campaign", RATES_MBPS)
@pytest.mark.parametrize("way", [0, 1], ids=["RESULTS@CAMPAIGN", "its study.yml"])
def test_results_are_those_of_the_campaign_that_is_named(stored, campaign, way):
    results = netlab.Results(names(stored, campaign)[way])
    assert set(results.runs["campaign"]) == {campaign}
    assert set(results.cells["goodput_MBps"].round(6)) == {RATES_MBPS[campaign]}


@pytest.mark.parametrize("way", [0, 1], ids=["RESULTS@CAMPAIGN", "its study.yml"])
def test_a_report_is_of_the_campaign_that_is_named(stored, tmp_path, way):
    for campaign, rate_MBps in RATES_MBPS.items():
        site = tmp_path / campaign
        made = invoke("report", names(stored, campaign)[way], "--site", site)
        assert made.exit_code in (0, 4), made.output
        cells = pd.read_csv(site / "downloads" / "cells.csv")
        assert set(cells["goodput_MBps"].dropna().round(6)) == {rate_MBps}
        front = (site / "index.html").read_text()
        assert re.search(rf"\b{rate_MBps:.0f}\b[^<]{{0,20}}MB/s", front)
        noted = f"of campaign {FIRST}; the latest is {SECOND}" in made.output
        assert noted == (campaign == FIRST)


def test_a_report_made_in_python_is_of_the_campaign_of_its_results(stored, tmp_path):
    netlab.Results(f"{stored}@{FIRST}").report(tmp_path / "site", progress=False)
    cells = pd.read_csv(tmp_path / "site" / "downloads" / "cells.csv")
    assert set(cells["goodput_MBps"].dropna().round(6)) == {RATES_MBPS[FIRST]}


@pytest.mark.parametrize("way", [0, 1], ids=["RESULTS@CAMPAIGN", "its study.yml"])
def test_a_bundle_of_an_earlier_campaign_is_refused(stored, tmp_path, way):
    made = invoke("bundle", names(stored, FIRST)[way], "--out", tmp_path / "b.zip")
    assert made.exit_code == 2 and "E-CLI-084" in made.output, made.output
    assert not (tmp_path / "b.zip").exists()


def test_a_campaign_that_is_not_there_is_refused_with_those_there_are(stored):
    for campaign in ("20260101T000000Z", "latest"):
        with refused(BadInput, "E-RESULTS-029", match=FIRST):
            netlab.Results(f"{stored}@{campaign}")
        made = invoke("report", f"{stored}@{campaign}")
        assert made.exit_code == 2 and SECOND in made.output


def test_a_campaign_of_a_study_is_found_by_its_name_in_results_elsewhere(stored, tmp_path):
    name = f"two-racks@{FIRST}"
    assert set(netlab.Results(name, results=stored).runs["campaign"]) == {FIRST}
    made = invoke("report", name, "--results", stored, "--site", tmp_path / "site")
    assert made.exit_code in (0, 4), made.output
    cells = pd.read_csv(tmp_path / "site" / "downloads" / "cells.csv")
    assert set(cells["goodput_MBps"].dropna().round(6)) == {RATES_MBPS[FIRST]}
    made = invoke("report", f"another@{FIRST}", "--results", stored)
    assert made.exit_code == 2, "the results are of another study"


def test_a_campaign_of_a_study_is_found_where_its_short_form_was_measured_last(
    stored, tmp_path, monkeypatch
):
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    shutil.copytree(stored, tmp_path / "results" / "two-racks")
    short = tmp_path / "results" / "two-racks-quick"
    shutil.copytree(stored / "runs", short / "runs")
    latest = "20260304T050607Z"
    shutil.copytree(campaign_files.folder(stored, SECOND), campaign_files.folder(short, latest))
    os.utime(campaign_files.study_file(short, latest))
    assert campaign_files.latest_directory("two-racks") == short
    for campaign, of in ((FIRST, short.with_name("two-racks")), (latest, short)):
        assert named_campaign(f"two-racks@{campaign}") == (of, campaign)


def test_a_name_or_file_that_is_of_no_campaign_is_left_to_others(stored, tmp_path):
    odd = tmp_path / "odd@place"
    odd.mkdir()
    (tmp_path / "own.yml").write_text("netlab: 1")
    for given in ("openlab-2003", "a@b", "@", f"{odd}", tmp_path / "own.yml", stored, "x\0@y"):
        assert named_campaign(given) is None, given
