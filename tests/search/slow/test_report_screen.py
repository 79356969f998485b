"""A stored screen or search is a page of its study's report, and bundled."""

from __future__ import annotations

import json
import re
import shutil

import pandas as pd
import pytest
import synthetic
from search.screened import screened

import netlab
from netlab import wings
from netlab.files.tables import csv_of
from netlab.files.writing import write_text
from netlab.report.site import SiteContent, build_site
from netlab.search.mlrsearch.bounds import HEADS
from netlab.search.screen.page import PAGE
from netlab.search.screen.written import write_files
from netlab.study.frozen import freeze


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of the openlab study, with a screen below them."""
    directory = tmp_path_factory.mktemp("results")
    study = synthetic.openlab()
    synthetic.store_of(directory, study)
    freeze(study, directory)
    write_files(screened(), directory / "screens" / "mine")
    effects = directory / "screens" / "mine" / "effects" / "runs"
    effects.mkdir(parents=True)
    (effects / "one.parquet").write_bytes(b"PAR1")
    row = {"group": "farther", "cell": "far@one"} | dict.fromkeys(HEADS, 0.25)
    row |= {"limit": "path", "trials": 9}
    write_text(directory / "mlrsearch" / "bounds.csv", csv_of(pd.DataFrame([row])))
    return netlab.Results(directory)


@pytest.fixture(scope="module")
def site(results, tmp_path_factory):
    """The site of the study, while it has another screen that cannot be read."""
    place, site = results.directory / "screens" / "old", tmp_path_factory.mktemp("site")
    file = write_files(screened(), place)[0]
    file.write_text(json.dumps(json.loads(file.read_text()) | {"netlab_screen": 1}))
    build_site(SiteContent(measured=results.measured, pdf=False, png=False), site)
    shutil.rmtree(place)
    index = (site / "index.html").read_text()
    assert f'href="{PAGE}mine.html"' in index and "effect of each knob of mine" in index
    return site


def test_the_page_has_effects_least_set_and_tuning_and_one_that_cannot_be_read_is_named(site):
    page = (site / f"{PAGE}mine.html").read_text()
    headings = re.findall(r'<h2 id="([^"]+)"', page)
    assert headings == ["in-short", "effects", "tuning-to-use", "not-factors"]
    assert "2 of 6 knobs are in the least set." in page and "The least set is confirmed." in page
    assert page.count('<figure class="netlab-figure"') == 1
    assert re.search(r"net\.ipv4\.tcp_rmem</td><td[^>]*>\+1\d\d\.\d</td><td[^>]*>\+", page)
    assert "name: mine-least" in page and "source: paper, tcp_rmem" in page
    assert "the device has no ring sizes to set" in page
    assert "net.ipv4.tcp_ecn: refused in 1 row with it" in page
    assert "written by another version" in (site / f"{PAGE}old.html").read_text()


def test_the_bounds_of_a_search_are_a_page(site):
    page = (site / "mlrsearch.html").read_text()
    assert "farther" in page and 'href="mlrsearch.html"' in (site / "index.html").read_text()


def test_results_have_the_screen(results):
    (found,) = results.screens.values()
    assert found.least_set == ("net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")


def test_whatever_copies_results_finds_the_screen_by_what_the_wing_names(results):
    stores = [f"{place}/*/*.parquet" for place in wings.stores()]
    found = {
        path for pattern in (*wings.files(), *stores) for path in results.directory.glob(pattern)
    }
    names = {path.relative_to(results.directory).as_posix() for path in found}
    assert names == {
        "mlrsearch/bounds.csv",
        "screens/mine/screen.json",
        "screens/mine/effects/runs/one.parquet",
    }
