"""The PDF: title page, contents, bookmarks, tags for screen readers.

That its bytes are the same each time is part of test_bundle.py.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
import synthetic

from netlab.analysis.measured import load_measured
from netlab.files.tables import Table
from netlab.report import document
from netlab.report.document import write_pdf
from netlab.report.page import Credit
from netlab.report.site import SiteContent, build_site
from netlab.study.frozen import freeze

MARKUP = document.markup().get_template("macros.typ.j2").module


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    directory = tmp_path_factory.mktemp("store")
    study = synthetic.openlab()
    runs = synthetic.runs_of(study, change=lambda row: row["path"] == "64-64")
    synthetic.store_of(directory, study, runs)
    return load_measured(directory, freeze(study, directory))


@pytest.fixture(scope="module")
def site(measured, tmp_path_factory):
    return build_site(
        SiteContent(measured=measured), tmp_path_factory.mktemp("site") / "site"
    ).parent


def poppler(program, *arguments):
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return subprocess.run([program, *arguments], capture_output=True, check=True).stdout


def text_of(pdf):
    return poppler("pdftotext", "-layout", pdf, "-").decode()


def images(pgm):
    """Pages as arrays of grey values, from images in the format PGM one after the other."""
    head = re.compile(rb"P5\s(\d+) (\d+)\s255\s")
    while found := head.match(pgm):
        width, height = map(int, found.groups())
        end = found.end() + width * height
        yield np.frombuffer(pgm[found.end() : end], np.uint8).reshape(height, width)
        pgm = pgm[end:]


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
    numbers = re.findall(r"\bTable (\d+):", whole)
    assert numbers == [str(n + 1) for n in range(len(numbers))], "no chart has one of another kind"
    assert 10 < len(pages) < 30 and re.search(r"\n\s*3\s*$", pages[3].rstrip())
    assert "PING" not in whole
    raw = (site / "report.pdf").read_bytes()
    assert raw[:5] == b"%PDF-"
    assert not (site / document.DOCUMENT_SOURCE).exists()
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
    assert "net.\u200bcore.\u200brmem_\u200bmax" in document._breakable("net.core.rmem_max")
    shown = MARKUP.table(Table(pd.DataFrame({"#a": ['"] #panic("x")', "\\"]}), "*c*"))
    assert r'[#"\"] #panic(\"x\")"]' in shown and r'[#"\\"]' in shown
    assert MARKUP.par('a "b"\\').startswith(r'#"a \"b\"\\"')
    table = Table(pd.DataFrame({"n": range(100)}), "c").head(60, "More elsewhere.")
    assert len(table.frame) == 60 and table.note == "The first 60 of 100 rows. More elsewhere."
    assert Table(pd.DataFrame({"n": [1]}), "c").head(60, "x").note == ""


def test_no_word_of_the_pdf_is_smaller_than_seven_points(site):
    """Measured on the page: the text of charts is scaled with them."""
    boxes = poppler("pdftotext", "-bbox", site / "report.pdf", "-").decode()
    heights = [
        float(bottom) - float(top)
        for top, bottom in re.findall(r'<word .*?yMin="([\d.]+)".*?yMax="([\d.]+)"', boxes)
    ]
    assert len(heights) > 2000 and min(heights) >= 7
    for stem in ("ceiling", "cost", "effects", "index", "repeats", "streams"):
        assert document._figures(site, stem), stem


def test_no_page_of_the_pdf_is_half_empty(site):
    """But the title page and the last one."""
    margin_mm, height_mm = 24, 297
    shown = []
    for page in images(poppler("pdftoppm", "-r", "36", "-gray", site / "report.pdf")):
        top = len(page) * margin_mm // height_mm
        ink = np.flatnonzero((page[top:-top] < 200).any(axis=1))
        edges = [-1, *ink, len(page) - 2 * top]
        shown.append(round(1 - (np.diff(edges).max() - 1) / edges[-1], 2))
    assert len(shown) > 10 and min(shown[1:-1]) >= 0.6, shown


def test_a_failure_gives_its_reason_and_no_file(measured, tmp_path):
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "index-1.svg").write_text("<svg")
    target = tmp_path / "a.pdf"
    assert write_pdf(measured, tmp_path, target, "A title").startswith("typst failed: ")
    assert {path.name for path in tmp_path.iterdir()} == {"figures"}


def test_a_site_without_results_has_no_pdf_and_says_why(tmp_path):
    text = build_site(SiteContent(), tmp_path / "site").read_text()
    assert "No PDF: no measured study is part of this site" in text
    assert not (tmp_path / "site" / "report.pdf").exists()
