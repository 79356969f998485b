"""A stored calibration is a page of the report; without one nothing of the report changes."""

from __future__ import annotations

import json
import re

import pytest
import synthetic
from calibrated_samples import CELLS, EMULATOR, MACHINE, store_calibration

from netlab.analysis.measured import load_measured
from netlab.report.calibration_pages import calibration_pages
from netlab.report.site import SiteContent, build_site
from netlab.study.frozen import freeze

FILE = "calibration.html"


def with_hosts(**facts):
    """Runs whose records have these facts of both hosts."""

    def change(row):
        content = json.loads(row["provenance"] or "{}")
        content["hosts"] = {"left": MACHINE | facts, "right": dict(MACHINE)}
        row["provenance"] = json.dumps(content)
        return True

    return change


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty directory that netlab works in."""
    monkeypatch.setenv("NETLAB_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def calibrations(home):
    """Where the report looks for calibrations."""
    return home / "results" / "calibration"


def measured(home, **facts):
    home.mkdir(exist_ok=True)
    study = synthetic.foreign(home)
    directory = home / "results" / "foreign"
    runs = synthetic.runs_of(study, change=with_hosts(**facts))
    synthetic.store_of(directory, study, runs)
    return load_measured(directory, freeze(study, directory))


def site(home, **more):
    place = home / "results" / "calibration"
    build_site(
        SiteContent(measured=measured(home), pdf=False, png=False, calibrations=place, **more),
        home / "site",
    )
    return home / "site"


def test_each_part_has_its_charts_then_tables_then_method_date_machine_and_kernel(
    home, calibrations
):
    store_calibration(calibrations)
    index = (site(home) / "index.html").read_text()
    assert f'<dt><a href="{FILE}">Calibration</a></dt>' in index, "in the box of trust"
    assert f'href="{FILE}"' in index[index.index("<nav") : index.index("</nav>")]
    page = (home / "site" / FILE).read_text()
    headings = re.findall(r'<h2 id="([^"]+)"', page)
    assert headings == ["in-short", "rates", "emulator"]
    sections = dict(re.findall(r'<h2 id="(\w+)">(.*?)</section>', page, re.DOTALL))
    for name, figures, tables in (("rates", 1, 1), ("emulator", 2, 2)):
        text = sections[name]
        assert text.count('<figure class="netlab-figure"') == figures
        assert text.count("<caption") == tables and text.count('scope="row"') >= 1
        assert not figures or text.rindex("<figure") < text.index("<table")
        said = "on 2026-01-05 with netlab 0.1.0 on Some CPU, 2 CPUs, Linux 6.1.9."
        assert text.index(said) > text.rindex("</table>")
    assert "10000 Mb/s, 9000 B: -1.62 %" in sections["rates"], "alt text"
    assert "20 ms, 500 Mb/s: +80 µs (+53 to +115), within" in sections["emulator"], "alt text"
    assert "3 of 4 known rates met on 2026-01-05" in page


def test_without_a_calibration_there_is_no_page_and_no_link(home):
    made = site(home)
    index = (made / "index.html").read_text()
    assert not (made / FILE).exists() and f'"{FILE}"' not in index
    assert "<dt>Calibration</dt><dd>not calibrated here; netlab calibrate compares" in index


def test_only_parts_that_are_stored_are_shown_each_with_its_own_date(home, calibrations):
    store_calibration(calibrations, 5, cells=CELLS)
    store_calibration(calibrations, 6, MACHINE | {"kernel": "6.2.0"}, emulator=EMULATOR)
    (page,) = calibration_pages(measured(home), calibrations)
    assert [name for name, _ in page.contents] == ["in-short", "rates", "emulator"]
    assert "on 2026-01-05 with netlab 0.1.0 on Some CPU, 2 CPUs, Linux 6.1.9." in page.body
    assert "on 2026-01-06 with netlab 0.1.0 on Some CPU, 2 CPUs, Linux 6.2.0." in page.body


@pytest.mark.parametrize("other", [{"cpu_model": "Other CPU"}, {"cpus": 64}])
def test_hosts_on_another_machine_are_named_by_cpu_model_and_count(home, calibrations, other):
    store_calibration(calibrations, emulator=EMULATOR)
    (same,) = calibration_pages(measured(home, kernel="6.9"), calibrations)
    assert "another machine" not in same.body
    (page,) = calibration_pages(measured(home / "other", **other), calibrations)
    machine = MACHINE | other
    named = f"left ({machine['cpu_model']}, {machine['cpus']} CPUs)."
    assert f"Hosts of this study on another machine: {named}" in page.body


def test_a_calibration_of_an_older_version_is_a_table_without_a_chart(home, calibrations):
    store_calibration(calibrations, machine={}, cells=[{"verdict": "within"}])
    (page,) = calibration_pages(measured(home), calibrations)
    assert "<figure" not in page.body and page.body.count("<caption") == 1
    assert "on a machine whose CPU is not recorded, kernel not recorded." in page.body


def test_cells_without_a_figure_are_no_error(home, calibrations):
    empty = {"error_percent": None, "least_percent": None, "greatest_percent": None}
    cells = [cell | empty | {"verdict": "not measured"} for cell in CELLS]
    store_calibration(calibrations, cells=cells)
    (page,) = calibration_pages(measured(home), calibrations)
    assert "<figure" not in page.body and page.body.count("not measured") >= len(cells)


def test_damaged_files_are_listed(home, calibrations):
    store_calibration(calibrations, emulator=EMULATOR)
    store_calibration(calibrations, 7).write_text("{")
    (page,) = calibration_pages(measured(home), calibrations)
    assert page.contents[-1][1] == "Damaged files"
    assert "2026-01-07T100000Z/calibration.json" in page.body
