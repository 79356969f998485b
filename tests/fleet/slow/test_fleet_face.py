"""A fleet shows its links, its hosts and its state."""

from __future__ import annotations

from datetime import UTC, datetime

import campaigns
import matplotlib.pyplot as plt
import pandas as pd
import pytest
from click.testing import CliRunner
from fleet.fleet_effects import EFFECTS, fleet_runs
from fleet.fleet_study import TEMPLATE

import netlab
from netlab.cli import main
from netlab.errors import BadInput, NetlabError
from netlab.experiment.campaign_record import open_record
from netlab.fleet.charts import MOST, host_spread
from netlab.fleet.links import link_cells, links


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    (tmp_path / "study.yml").write_text(TEMPLATE)
    (tmp_path / "hosts").write_text("h[00:11]\n")
    place = ("--inventory", str(tmp_path / "hosts"), "--results", str(tmp_path / "results"))
    done = CliRunner().invoke(main, ["fleet", "plan", str(tmp_path / "study.yml"), *place])
    assert done.exit_code == 0, done.output
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: fleet_runs(12, 3))
    return netlab.Fleet(tmp_path / "results")


def test_links_and_hosts_are_named_with_their_shares(fleet):
    assert len(fleet.runs) == 12 * 11 * 2 * 3 and len(fleet.links) == 12 * 11
    assert {*fleet.outlying["host"]} == {"h03"}
    answer = repr(fleet.answer)
    assert "Of 132 links of 12 hosts the slowest, h0" in answer
    assert f"h03 sends at {100 * EFFECTS['host']:.0f} % of the others" in answer
    assert "1 are slower than their other direction by 10 % or more;" in answer
    shown = fleet.slowest(2).frame
    assert {*shown["link"]} == {"h05 → h06", "h06 → h05"}
    assert shown["share"].to_numpy() == pytest.approx(100 * EFFECTS["link"], rel=0.04)
    assert list(fleet.hosts().frame["host"]) == ["h03", "h03"]


def test_it_shows_itself_as_its_state_and_its_slowest_links(fleet):
    assert "jobs done, no controller runs" in repr(fleet)
    assert "The 10 slowest links" in repr(fleet)
    html = fleet._repr_html_()
    assert "h05 → h06" in html and ">h11</th>" in html


def test_a_fleet_whose_runs_are_all_flagged_is_refused_with_the_flags(fleet, tmp_path, monkeypatch):
    flagged = fleet_runs(12, 3).assign(flags="interference")
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: flagged)
    for word in ("links", "report"):
        done = CliRunner().invoke(main, ["fleet", word, str(tmp_path / "results")])
        assert done.exit_code == 1 and "E-REPORT-012" in done.output, done.output
        assert f"runs by flag: interference {len(flagged)}; netlab guide flags" in done.output


def test_the_report_is_a_site_of_the_plan_and_its_runs(fleet, tmp_path, monkeypatch):
    measured = fleet_runs(12, 3).assign(started_at=pd.Timestamp("2026-01-02T03:04:05Z"))
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: measured)
    words = ["fleet", "report", str(tmp_path / "results"), "--site", str(tmp_path / "site")]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "site" / "index.html")
    assert "the slowest, h0" in (tmp_path / "site" / "index.html").read_text()
    assert "jobs done, no controller runs" in (tmp_path / "site" / "state.html").read_text()


def test_the_report_names_records_that_were_made_under_other_settings(fleet, tmp_path, monkeypatch):
    """A host's default changed while the fleet was measured: rounds of a pair do not count."""
    place = fleet.plan.pair_directory(fleet.plan.pairs[0])
    for minutes, default in enumerate(("reno", "bbr")):
        facts = campaigns.facts(default)
        at = datetime(2026, 11, 28, 0, minutes, tzinfo=UTC)
        record = open_record(campaigns.study(), place, facts, None, now=at)
        campaigns.write(record, facts)
    measured = fleet_runs(12, 3).assign(started_at=pd.Timestamp("2026-01-02T03:04:05Z"))
    monkeypatch.setattr("netlab.fleet.view.fleet_runs", lambda plan: measured)
    fleet.report(tmp_path / "site")
    page = (tmp_path / "site" / "index.html").read_text()
    assert "h00~h01: measured on" in page
    assert "under other settings: congestion control reno, 12 runs; not counted" in page


def test_charts_are_of_every_link_and_draw_on_given_axes(fleet):
    figure, ax = plt.subplots()
    assert fleet.spread(ax) is ax
    assert ax.get_yticklabels()[0].get_text() == "h03"
    assert [len(line.get_xdata()) for line in ax.lines][-2:] == [132, 132]
    assert fleet.plot().figure is not figure


def test_of_many_hosts_the_slowest_are_drawn_and_no_link_is_an_error():
    many = links(link_cells(fleet_runs(MOST + 5, 3)))
    assert len(host_spread(many).get_yticks()) == MOST
    with pytest.raises(BadInput) as caught:
        host_spread(many.head(0))
    assert caught.value.code == "E-CHARTS-011"


def test_what_was_never_planned_is_an_error(tmp_path):
    with pytest.raises(NetlabError, match="cannot be read as the plan of a fleet"):
        netlab.Fleet(tmp_path)
