"""The report of a fleet has its matrix, its slowest links, its hosts and its state."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from fleet.fleet_effects import EFFECTS, fleet_runs
from refusals import refused

from netlab.errors import BadInput, NetlabError
from netlab.fleet.charts import slow_links
from netlab.fleet.links import asymmetric_pairs, host_links, link_cells, links
from netlab.fleet.outlying_hosts import outlying_hosts
from netlab.fleet.site import FleetResults, build_fleet_site
from netlab.report.tables import Sentence

HOSTS, ROUNDS = 12, 3


@pytest.fixture(scope="module")
def found() -> FleetResults:
    runs = fleet_runs(HOSTS, ROUNDS)
    runs["started_at"] = pd.Timestamp("2026-01-02T03:04:05Z")
    runs.loc[[0, 7], "flags"] = "stalled,interference"
    cells = link_cells(runs)
    all_links = links(cells)
    outlying = outlying_hosts(all_links)
    state = Sentence("24 of 24 jobs done")
    return FleetResults("Racks", "Every link", runs, cells, all_links, outlying, state)


@pytest.fixture(scope="module")
def site(found, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build_fleet_site(found, folder)
    return folder


def text(site, page: str) -> str:
    return re.sub(r"<template.*?</template>", "", (site / page).read_text(), flags=re.DOTALL)


def test_the_overview_has_the_answer_and_the_matrix(site):
    page = text(site, "index.html")
    assert "Of 132 links of 12 hosts the slowest, h0" in page
    assert f"h03 sends at {100 * EFFECTS['host']:.0f} % of the others" in page
    assert "Heat map of 132 links between 12 hosts" in page and page.count("<svg") == 1
    assert ">stalled</" not in page and "flagged stalled" in page
    for other in ("links.html", "hosts.html", "state.html"):
        assert f'href="{other}"' in page and (site / other).is_file()
    assert (site / "figures" / "index-1.png").stat().st_size > 10_000


def test_links_hosts_and_state_have_their_pages(site):
    page = text(site, "links.html")
    assert "h05 → h06" in page and "Asymmetric pairs" in page
    assert "The first 500 of" not in page  # 264 cells
    assert (site / "tables" / "cells-of-every-link.csv").read_text().count("\n") == 265
    hosts = text(site, "hosts.html")
    assert hosts.count("<svg") == 1 and all(f">h{n:02}</" in hosts for n in range(HOSTS))
    assert "24 of 24 jobs done" in text(site, "state.html")


def test_asymmetric_pairs_and_medians_of_hosts_have_the_known_effects(found):
    (pair,) = asymmetric_pairs(found.links).itertuples()
    assert (pair.sender, pair.receiver) == ("h08", "h09")
    assert pair.ratio == pytest.approx(EFFECTS["way"], rel=0.04)
    first, *others = host_links(found.links).itertuples()
    assert first.host == "h03" and first.links == 2 * (HOSTS - 1)
    assert first.median == pytest.approx(EFFECTS["host"], rel=0.04)
    assert all(0.95 < host.median < 1.05 for host in others)


def test_a_fleet_without_a_valid_run_is_refused(found, tmp_path):
    none = replace(found, links=found.links.head(0))
    with refused(NetlabError, "E-REPORT-012"):
        build_fleet_site(none, tmp_path / "site")
    with refused(BadInput, "E-CHARTS-012"):
        slow_links(none.links)
