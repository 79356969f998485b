"""The site of a study: a first screen, a banner below the gate, addresses, and links to runs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil

import nbformat
import pandas as pd
import pytest
import synthetic
from nbformat import v4

from netlab.analysis import cell_texts
from netlab.analysis.measured import load_measured
from netlab.report.one_file import single_file
from netlab.report.site import ExecutedNotebook, SiteContent, build_site
from netlab.study.frozen import freeze

IDS = re.compile(r'\sid="([^"]+)"')
LINKS = re.compile(r'<a [^>]*href="([^"]+)"')


@pytest.fixture(scope="module")
def site(one_group, tmp_path_factory):
    """Its site, with a notebook of a block and one of analysis."""
    work = tmp_path_factory.mktemp("notebooks")
    pages = []
    for name, block in (("03-analysis", ""), ("block", "64-64@full@9000")):
        cells = [v4.new_markdown_cell(f"# {name}\n\n## Then\n\n## Then"), v4.new_code_cell("1")]
        nbformat.write(v4.new_notebook(cells=cells), work / f"{name}.ipynb")
        part = "Blocks" if block else ""
        pages.append(ExecutedNotebook(work / f"{name}.ipynb", part=part, block_id=block))
    return build_site(SiteContent(pages, measured=one_group, pdf=False), work / "site").parent


def test_the_first_screen_has_sentences_a_chart_and_the_box_of_trust(site):
    text = (site / "index.html").read_text()
    first = text[: text.index('<h2 id="downloads">')]
    places = [first.index(f'class="{name}"') for name in ("answer", "tiles", "trust", "gate")]
    assert places == sorted(places) and places[0] < first.index("<figure") < places[1]
    assert first.count("<p>") >= 5 and "Highest goodput: in one direction" in first
    box = re.search(r'<section class="trust".*?</section>', first, re.DOTALL)[0]
    for item in ("Precision reached", "Flagged", "Empty cells", "Order effects", "Calibration"):
        assert f"<dt>{item}</dt>" in box
    assert "<dt>Flagged cells</dt><dd>3 of 140</dd>" in re.sub(r">\s+<", "><", box)
    assert "<dd>119 of 140</dd>" in box and "no precision was asked" in box
    assert first.count('<figure class="netlab-figure"') == 1
    assert "agent" not in text, "provenance has a page of its own"


def test_every_page_below_the_gate_says_so_with_reasons_and_commands(site):
    pages = sorted(site.glob("*.html"))
    assert len(pages) == 21
    for page in pages:
        banner = re.search(r'<aside class="gate".*?</aside>', page.read_text(), re.DOTALL)[0]
        assert "119 of 140 cells are empty" in banner and "not measured: 119" in banner
        assert "3 of 140 cells have only flagged runs" in banner and "stalled: 3" in banner
        assert "netlab study openlab-2003 --results" in banner
        assert "<details>" in banner


def test_a_disturbed_cell_is_grey_and_hollow_with_its_reason_in_pages_csv_and_latex(
    site, one_group
):
    cells = one_group.cells[one_group.cells["disturbed"] != ""]
    assert len(cells) == 3 and set(cells["disturbed"]) == {"stalled"}
    page = (site / "tables.html").read_text()
    hollow = re.findall(r'<span class="netlab-hollow"[^>]*>○\s(\d+)\s\(([\d.]+)\s%\)</span>', page)
    assert sorted(int(rate) for rate, _ in hollow) == sorted(cells["disturbed_MBps"].round())
    assert "○: median of flagged runs, not a result (stalled: 3 cells)." in page
    for name in ("index", "streams", "ceiling"):
        text = (site / f"{name}.html").read_text()
        assert "median of flagged runs, not a result (stalled: 3 cells)." in text, name
    runs = (site / "runs-linux64-to-linux64.html").read_text()
    assert runs.count("the median of 3 flagged runs (stalled), not a result") == 3
    (csv,) = (site / "downloads").glob("*linux64-to-linux64.csv")
    for file, count in ((site / "downloads" / "cells.csv", 140), (csv, 28)):
        rows = pd.read_csv(file)
        found = rows[rows["disturbed"].notna()]
        assert len(rows) == count and len(found) == 3 and set(found["disturbed"]) == {"stalled"}
        assert found["disturbed_MBps"].tolist() == pytest.approx(cells["disturbed_MBps"].tolist())
        assert found[["goodput_MBps", "low_MBps", "high_MBps"]].isna().all(axis=None)
    assert csv.with_suffix(".tex").read_text().count(r"$\circ$") == 4, "three cells and the note"


def test_a_study_that_passes_has_no_banner(tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(tmp_path / "store", study)
    m = load_measured(tmp_path / "store", freeze(study, tmp_path / "store"))
    build_site(SiteContent(measured=m, pdf=False, png=False), tmp_path / "site")
    for page in (tmp_path / "site").glob("*.html"):
        assert '<aside class="gate"' not in page.read_text(), page.name


def test_headings_tables_cells_and_runs_have_addresses_and_every_link_leads_somewhere(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        ids = IDS.findall(text)
        assert len(ids) == len(set(ids)), page.name
        assert not re.findall(r"<h[1-6](?![^>]*\bid=)", text), page.name
        frames = re.findall(r'<div[^>]*\bclass="netlab-table"[^>]*>', text)
        assert all(" id=" in frame for frame in frames), page.name
    text = (site / "03-analysis.html").read_text()
    assert 'id="then"' in text and 'id="then-2"' in text
    assert '<a href="#then-2">Then</a>' in text
    ids = {page.name: set(IDS.findall(page.read_text())) for page in site.glob("*.html")}
    for page in site.glob("*.html"):
        for link in LINKS.findall(page.read_text()):
            file, _, place = link.partition("#")
            assert (site / (file or page.name)).is_file(), link
            assert not place or place in ids[file or page.name], (page.name, link)


def test_a_cell_leads_to_its_runs_and_a_run_to_its_record_plot_and_block(site, one_group):
    table = (site / "tables.html").read_text()
    cell = re.search(r'<a href="(runs-[^"#]+)#(full-9000-4)">([\d.]+)', table)
    page = (site / cell[1]).read_text()
    section = re.search(rf'<h2 id="{cell[2]}">.*?</section>', page, re.DOTALL)[0]
    runs = one_group.runs
    runs = runs[(runs["tuning"] == "full") & (runs["mtu_B"] == 9000) & (runs["streams"] == 4)]
    assert section.count("<tr id=") == len(runs) == 3
    assert section.count('<svg class="spark" role="img"') == section.count("<polyline") == 3
    assert section.count('<a href="block.html">notebook</a>') == 3
    for address in re.findall(r'<a href="(records/[^"]+)"', section):
        record = json.loads((site / address).read_text())
        row = runs.set_index("run_id").loc[record["run_id"]]
        assert record["goodput_MBps"] == row["goodput_MBps"]
        assert record["provenance"]["hosts"]["linux64-a"]["kernel"] == "6.12.0"
    assert ">stalled</a>: &lt;i&gt;nothing&lt;/i&gt; came" in page


def test_the_views_show_each_measured_group_and_provenance_folds_what_is_equal(site):
    for view in ("streams", "ceiling", "bottlenecks", "effects", "repeats", "cost"):
        text = (site / f"{view}.html").read_text()
        assert view == "bottlenecks" or '<figure class="netlab-figure"' in text, view
        assert view == "effects" or '<h2 id="linux64-to-linux64">' in text, view
    assert not (site / "trend.html").exists(), "there is one campaign"
    tables = (site / "tables.html").read_text()
    assert "<summary>Flagged and empty cells: 122</summary>" in tables, "a long list is folded"
    assert "<summary>Flagged runs" not in (site / "precision.html").read_text()
    text = (site / "provenance.html").read_text()
    assert "linux64-a" in text and "6.12.0" in text
    assert "<summary>The same on all hosts:" in text
    assert "study digest (SHA-256)" in text


def test_every_notebook_is_there_as_one_and_every_group_as_csv_and_latex(site, one_group):
    assert '<a download href="notebooks/block.ipynb">' in (site / "block.html").read_text()
    content = nbformat.read(site / "notebooks" / "03-analysis.ipynb", as_version=4)
    assert content.cells[0].source.startswith("# 03-analysis")
    runs = pd.read_csv(site / "records" / "linux64-to-linux64.csv")
    assert runs["run_id"].tolist() == one_group.runs["run_id"].tolist()
    page = (site / "runs-linux64-to-linux64.html").read_text()
    assert '<a download href="records/linux64-to-linux64.tex">LaTeX of all these runs</a>' in page
    latex = (site / "records" / "linux64-to-linux64.tex").read_text()
    rows = [line for line in latex.splitlines() if line.startswith(tuple(runs["run_id"]))]
    assert len(rows) == len(runs) and latex.startswith(r"\begin{longtable}")
    first = one_group.runs.iloc[0]
    goodput = cell_texts.number(first["goodput_MBps"])
    assert f" & {first['started_at']:%Y-%m-%d %H:%M:%S} & {goodput} & " in rows[0]
    assert sum("stalled: " in row for row in rows) == (runs["flags"] == "stalled").sum() > 0


FORMATTED = re.compile(r"×[\d,.]+.*|[\d,.]+ (±[\d,. ]+|\([^)]*\))")
"""A number with its sign or interval, as tables show it."""


def test_a_csv_of_a_table_has_numbers_in_place_of_formatted_text(site):
    files = sorted((site / "tables").glob("*.csv"))
    assert len(files) > 20
    for file in files:
        for cell in pd.read_csv(file, dtype=str).to_numpy(dtype=str).ravel():
            assert not FORMATTED.fullmatch(cell), (file.name, cell)


def test_pages_follow_one_another(site):
    page, seen = "index.html", []
    while page:
        seen.append(page)
        text = (site / page).read_text()
        found = re.search(r'<a rel="next" href="([^"]+)"', text)
        page = found[1] if found else ""
        assert len(seen) < 30
    assert len(seen) == len(list(site.glob("*.html"))) and seen[1] == "tables.html"
    assert '<a rel="prev" href="index.html">' in (site / "tables.html").read_text()


def test_the_pages_of_a_study_are_one_file_in_which_every_link_leads_somewhere(site, tmp_path):
    """Without notebooks, single runs and files beside it."""
    copy = shutil.copytree(site, tmp_path / "site")
    text = single_file(copy).read_text()
    ids = IDS.findall(text)
    assert len(ids) == len(set(ids)) and {"index--cite", "tables--in-short"} <= set(ids)
    links = set(re.findall(r'href="(?!data:)([^"]+)"', text))
    assert links <= {f"#{name}" for name in ids} and {"#tables", "#index"} <= links
    chapters = re.findall(r'<article class="chapter" id="([^"]+)"', text)
    assert chapters[:2] == ["index", "tables"] and "03-analysis" not in chapters
    assert len(text.encode()) < 5e6 and "Content-Security-Policy" in text


def test_the_policy_allows_the_one_script_and_no_other(site):
    for page in site.glob("*.html"):
        text = page.read_text()
        (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
        assert f"script-src 'sha256-{digest}'" in policy.split("; ")
        assert "default-src 'none'" in policy and text.count("<script") == 1
