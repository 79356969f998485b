"""Every figure is there as SVG, PNG and CSV, every table as CSV with numbers and LaTeX."""

from __future__ import annotations

import base64
import re

import matplotlib.image
import pandas as pd
import pytest
import synthetic

from netlab.charts import study_charts as charts
from netlab.charts.chart import show
from netlab.charts.looks import new_axes
from netlab.files.tables import Table
from netlab.report import tables
from netlab.report.export import Exporter
from netlab.report.rasteriser import Rasteriser

GROUP = "Linux64 -> Linux64"


@pytest.fixture(scope="module")
def m():
    return synthetic.measured()


def exporter(tmp_path, name="site"):
    (tmp_path / name).mkdir(exist_ok=True)
    return Exporter(tmp_path / name, tmp_path / "before")


def test_a_figure_is_shown_inline_and_linked_as_three_files(m, tmp_path):
    chart = show(charts.panels(m.cells, GROUP, study=m.study))
    body = exporter(tmp_path).body(chart._repr_html_() * 2, "streams")
    folder = tmp_path / "site" / "figures"
    names = {f"streams-{n}.{kind}" for n in (1, 2) for kind in ("svg", "png", "csv")}
    assert {path.name for path in folder.iterdir()} == names
    assert set(re.findall(r'href="figures/([^"]+)"', body)) == names
    assert "<img" not in body and body.count("<svg ") == 2 and "<metadata" not in body
    ids = re.findall(r'\bid="([^"]+)"', body)
    assert len(ids) == len(set(ids)) and all("streams-" in name for name in ids)
    for target in re.findall(r'(?:url\(#|href="#)([^)"]+)', body):
        assert target in ids
    pixels = matplotlib.image.imread(folder / "streams-1.png")
    assert pixels.shape[1] > 1000 and pixels[..., :3].std() > 0.05, "not a blank picture"
    assert (folder / "streams-1.svg").read_text() == chart.svg
    assert len(pd.read_csv(folder / "streams-1.csv")) == 28 + 6


def test_the_order_of_attributes_does_not_matter_and_foreign_pictures_stay(m, tmp_path):
    html = show(charts.panels(m.cells, GROUP, study=m.study))._repr_html_()
    source = re.search(r'src="[^"]+"', html)[0]
    turned = (
        f'<figure class="netlab-figure" tabindex="0"><img alt="a" {source} role="img"></figure>'
    )
    assert "<svg " in exporter(tmp_path).body(turned, "x")
    foreign = turned.replace(' role="img"', "")
    assert exporter(tmp_path).body(foreign, "y") == foreign


SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:x="http://www.w3.org/1999/xlink"{}>{}</svg>'


@pytest.mark.parametrize(
    ("attribute", "inner"),
    [
        (' onload="sprung()"', ""),
        ("", "<script>sprung()</script>"),
        ("", "<title><img src='x' onerror='sprung()'/></title>"),
        ("", "<style>body{display:none}</style>"),
        ("", "<use x:href='http://192.0.2.1/a.svg'/>"),
        ("", "<a x:href='javascript:sprung()'>a</a>"),
        ("", "<!--><script>sprung()</script>-->"),
        ("", "<![CDATA[<script>sprung()</script>]]>"),
        ("", "<?a ><script>sprung()</script>?>"),
        ("", "<g>"),
    ],
)
def test_a_figure_with_anything_active_stays_a_picture(tmp_path, attribute, inner):
    data = base64.b64encode(SVG.format(attribute, inner).encode()).decode()
    picture = (
        f'<figure class="netlab-figure"><img role="img" src="data:image/svg+xml;base64,{data}">'
    )
    assert exporter(tmp_path).body(f"{picture}</figure>", "x") == f"{picture}</figure>"


def test_the_png_of_a_figure_that_did_not_change_is_taken_over(tmp_path):
    chart = show(new_axes(), "An empty chart.")
    exporter(tmp_path, "before").body(chart._repr_html_(), "a")
    kept = tmp_path / "before" / "figures" / "a-1.png"
    kept.write_bytes(b"the former picture")
    exporter(tmp_path).body(chart._repr_html_(), "a")
    assert (tmp_path / "site" / "figures" / "a-1.png").read_bytes() == b"the former picture"
    ax = new_axes()
    ax.plot([1, 2])
    exporter(tmp_path).body(show(ax, "Another chart.")._repr_html_(), "a")
    assert (tmp_path / "site" / "figures" / "a-1.png").read_bytes()[:4] == b"\x89PNG"


def test_a_table_of_text_has_its_numbers_as_csv(m, tmp_path):
    shown = tables.of_group(m, GROUP, "both")
    body = exporter(tmp_path).body(shown._repr_html_(), "tables")
    (csv,) = re.findall(r'href="(tables/[^"]+\.csv)"', body)
    data = pd.read_csv(tmp_path / "site" / csv)
    part = m.cells[m.cells["group"] == GROUP]
    assert data["goodput_MBps"].to_numpy() == pytest.approx(part["goodput_MBps"].to_numpy())
    assert {"low_MBps", "high_MBps", "percent_of_bus", "bottleneck"} <= set(data)
    (tex,) = re.findall(r'href="(tables/[^"]+\.tex)"', body)
    assert r"\toprule" in (tmp_path / "site" / tex).read_text()
    assert "<template" not in body and 'aria-label="CSV: Table 2: Linux64' in body


def test_a_table_has_an_id_that_no_heading_of_its_page_has(tmp_path):
    table = Table(pd.DataFrame({"a": [1]}), "Table 2: x")._repr_html_()
    other = Table(pd.DataFrame({"a": [1]}), "Facts")._repr_html_()
    body = exporter(tmp_path).body(f'<h2 id="table-2-x">t</h2>{table}{table}<p></p>{other}', "x")
    found = re.findall(r'<div id="([^"]+)" class="netlab-table"', body)
    assert found == ["table-2-x-table", "table-2-x-2", "table-facts"]
    sorted_by_nbconvert = table.replace(
        '<div class="netlab-table"', '<div a="" class="netlab-table"'
    )
    assert '<div id="table-2-x"' in exporter(tmp_path, "other").body(sorted_by_nbconvert, "x")


def test_tables_of_one_caption_get_names_of_their_own(tmp_path):
    table = Table(pd.DataFrame({"a": ["<b>"]}), "One & <two>")
    body = exporter(tmp_path).body(table._repr_html_() * 2, "x")
    assert set(re.findall(r'href="tables/([^"]+)\.csv"', body)) == {"one-two", "one-two-2"}
    assert (tmp_path / "site" / "tables" / "one-two.csv").read_text() == "a\n<b>\n"


def test_a_picture_that_cannot_be_rendered_has_no_png():
    assert Rasteriser().png("<svg") == b""


def test_figures_may_be_exported_without_png(m, tmp_path):
    chart = show(charts.panels(m.cells, GROUP, study=m.study))
    for folder in ("site", "figures"):
        (tmp_path / folder).mkdir()
    for kind in ("svg", "png"):
        (tmp_path / "figures" / f"former-1.{kind}").touch()
    body = Exporter(tmp_path / "site", tmp_path, png=False).body(chart._repr_html_(), "streams")
    names = {path.name for path in (tmp_path / "site" / "figures").iterdir()}
    assert names == {"streams-1.svg", "streams-1.csv"} and ".png" not in body
