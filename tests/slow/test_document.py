"""The PDF: title page, contents, bookmarks, tags for screen readers.

That its bytes are the same each time is part of test_bundle.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pandas as pd
import pytest
import synthetic

from netlab.analysis.measured import load_measured
from netlab.files.tables import Table
from netlab.report import export
from netlab.report.export import write_pdf
from netlab.report.page import Credit
from netlab.report.site import build_site
from netlab.study.file import freeze

MARKUP = export.markup().get_template("macros.typ.j2").module


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("store")
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=lambda row: row["path"] == "64-64")
    synthetic.store_of(directory, study, runs)
    return load_measured(directory, freeze(study, directory))


@pytest.fixture(scope="module")
def site(measured, tmp_path_factory):
    return build_site([], tmp_path_factory.mktemp("site") / "site", measured=measured).parent


def text_of(pdf):
    program = shutil.which("pdftotext")
    if program is None:
        pytest.skip("pdftotext is not installed")
    return subprocess.run(
        [program, "-layout", str(pdf), "-"], capture_output=True, text=True, check=True
    ).stdout


def test_the_pdf_has_title_page_contents_numbers_captions_tags_and_bookmarks(site, measured):
    pages = text_of(site / "report.pdf").split("\f")
    assert (
        "10 Gb Ethernet back to back" in pages[0]
        and measured.runs["study_digest"].iloc[0] in pages[0]
    )
    assert re.search(r"Machine\s+6\.12\.0", pages[0])
    assert "Contents" in pages[1] and re.search(r"Provenance( \.)+.*\d", pages[1])
    whole = "\n".join(pages)
    for words in ("How far to trust this", "Figure 1:", "Table 1:", "Bottlenecks", "140 cells"):
        assert words in whole, words
    assert not re.search(r"Table \d+: Table", whole), "one number a table"
    assert re.search(r"Table \d+: Linux64 → Linux64, bottleneck; table 2 in the source", whole)
    assert 10 < len(pages) < 30 and re.search(r"\n\s*3\s*$", pages[3].rstrip())
    assert "PING" not in whole
    raw = (site / "report.pdf").read_bytes()
    assert raw[:5] == b"%PDF-"
    assert not (site / export.DOCUMENT_SOURCE).exists()
    assert b"/StructTreeRoot" in raw and b"/Outlines" in raw and b"pdfuaid" in raw


def test_the_title_page_names_the_author_and_the_address(site, measured, tmp_path):
    credit = Credit("A. Student", "https://example.org/report/")
    assert write_pdf(measured, site, tmp_path / "a.pdf", "A title", credit) == ""
    first = text_of(tmp_path / "a.pdf").split("\f")[0]
    assert re.search(r"Author\s+A\. Student", first)
    assert re.search(r"Address\s+https://example\.org/report/", first)
    assert "Author" not in text_of(site / "report.pdf").split("\f")[0]


def test_a_table_stays_with_its_caption_is_cut_shows_markup_and_leaves_room_for_every_column():
    short = MARKUP.table(Table(pd.DataFrame({"n": range(30)}), "c", note="below"))
    assert short.startswith("#block(breakable: false)[") and short.rstrip().endswith("]")
    assert short.index("below") < short.rindex("]")
    long = MARKUP.table(Table(pd.DataFrame({"n": range(31)}), "c", note="below"))
    assert long.startswith("#figure(")
    frame = pd.DataFrame({"a": ["net.core.netdev_max_backlog"], "b": ["word " * 60], "c": [1]})
    assert "columns: (27fr, 60fr, auto, )" in MARKUP.table(Table(frame, "c"))
    assert "net.\u200bcore.\u200brmem_\u200bmax" in export._breakable("net.core.rmem_max")
    shown = MARKUP.table(Table(pd.DataFrame({"#a": ['"] #panic("x")', "\\"]}), "*c*"))
    assert r'[#"\"] #panic(\"x\")"]' in shown and r'[#"\\"]' in shown
    assert MARKUP.par('a "b"\\').startswith(r'#"a \"b\"\\"')
    table = Table(pd.DataFrame({"n": range(100)}), "c").head(60, "More elsewhere.")
    assert len(table.frame) == 60 and table.note == "The first 60 of 100 rows. More elsewhere."
    assert Table(pd.DataFrame({"n": [1]}), "c").head(60, "x").note == ""


def test_text_of_a_figure_as_wide_as_a_line_has_seven_points(site):
    """On a line of 166 mm."""
    seen = 0
    for stem in ("ceiling", "cost", "effects", "repeats", "streams"):
        for figure in export._figures(site, stem):
            svg = (site / figure["path"]).read_text()
            width = float(re.search(r'<svg [^>]*width="([\d.]+)pt"', svg)[1])
            sizes = re.findall(r'font[^;"]*?([\d.]+)px', svg)
            size = min(map(float, sizes)) * 166 / 25.4 * 72 * figure["percent"] / 100 / width
            assert size >= 7 or (width > 500 and figure["percent"] == 100), figure["path"]
            seen += width <= 500
    assert seen >= 5


def test_a_failure_gives_its_reason_and_no_file(measured, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "index-1.svg").write_text("<svg")
    target = tmp_path / "a.pdf"
    assert write_pdf(measured, tmp_path, target, "A title").startswith("typst failed: ")
    assert {path.name for path in tmp_path.iterdir()} == {"figures"}


def test_a_site_without_results_has_no_pdf_and_says_why(tmp_path):
    text = build_site([], tmp_path / "site").read_text()
    assert "No PDF: no measured study is part of this site" in text
    assert not (tmp_path / "site" / "report.pdf").exists()
