"""The guide as pages: complete, linked within itself, and not made again without a change."""

from __future__ import annotations

import ast
import gc
import re
from html.parser import HTMLParser
from pathlib import Path

import guide
import pytest

import netlab
from netlab.errors import BadInput
from netlab.files import paths
from netlab.report.guide import api
from netlab.report.guide import pages as guide_pages_module
from netlab.report.guide.markdown import as_page
from netlab.report.guide.pages import DOCUMENTS, FILES, guide_pages
from netlab.report.guide.site import build_guide
from netlab.report.kept import RenderedPages
from netlab.report.site import ExecutedNotebook, build_site

pytestmark = pytest.mark.slow

PACKAGE = Path(netlab.__file__).parent
ANYWHERE = re.compile(r"https?://|mailto:")


class Links(HTMLParser):
    """Ids and addresses of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.rel: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
            if "rel" in given:
                self.rel[given["rel"]] = given["href"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The guide as a site of its own."""
    return build_guide(tmp_path_factory.mktemp("guide") / "site").parent


@pytest.fixture(scope="module")
def pages(site):
    return {file.name: file.read_text(encoding="utf-8") for file in site.glob("*.html")}


def broken(pages: dict[str, str]) -> list[tuple[str, str]]:
    """Links that lead to no page or to no id."""
    read = {name: Links(text) for name, text in pages.items()}
    found = []
    for name, page in read.items():
        for link in page.links:
            file, _, fragment = link.partition("#")
            target = read.get(file or name)
            if ANYWHERE.match(link) or link == "#content":
                continue
            if target is None or (fragment and fragment not in target.ids):
                found.append((name, link))
    return found


def test_every_document_is_a_page():
    own = {document.source for document in DOCUMENTS} - {"PROTOCOL.md", "CONTRIBUTING.md"}
    assert own == {path.name for path in guide.DOCS.glob("*.md")}


def test_every_link_leads_to_a_page_and_a_heading(pages):
    assert broken(pages) == []
    assert broken({"a.html": '<a href="b.html"></a><a href="#x"></a>'}) == [
        ("a.html", "b.html"),
        ("a.html", "#x"),
    ]


def test_no_id_is_given_twice(pages):
    for name, text in pages.items():
        ids = Links(text).ids
        assert len(ids) == len(set(ids)), name


def test_each_page_leads_to_the_next_and_back(pages):
    order = ["index.html"]
    while (following := Links(pages[order[-1]]).rel.get("next")) is not None:
        assert Links(pages[following]).rel["prev"] == order[-1]
        order.append(following)
    assert order == ["index.html", *FILES[1:]] and set(order) == set(pages)


def test_a_page_names_itself_and_lists_its_headings(pages):
    text = pages["guide-report.html"]
    assert '<a href="guide-report.html" aria-current="page">Reading a report</a>' in text
    assert '<li><a href="#quality-gate">Quality gate</a></li>' in text
    assert '<h2 id="quality-gate">' in text


def test_a_page_loads_nothing(pages):
    for text in pages.values():
        assert "default-src 'none'" in text
        assert not re.search(r"<(?:link|img|script)[^>]+(?:src|href)=\"(?!data:)", text)


def public_names(source: str) -> set[str]:
    """Public top-level functions and classes of a module that have a docstring."""
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node)
    }


def test_the_reference_has_every_public_function_and_class(pages):
    ids = {name for text in pages.values() for name in Links(text).ids}
    wanted = set()
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        if parts[0] == "cli" or any(part.startswith("__main") for part in parts):
            continue
        if any(part.startswith("_") and part != "__init__" for part in parts):
            continue
        module = ".".join(("netlab", *(part for part in parts if part != "__init__")))
        wanted |= {f"{module}.{name}" for name in public_names(path.read_text("utf-8"))}
    wanted -= {name for name in wanted if name.count(".") == 1}  # netlab/__init__.py
    assert len(wanted) > 500
    assert wanted <= ids, sorted(wanted - ids)[:5]
    assert {"netlab.face.results.Results", "netlab.face.study.Study.plan"} <= ids


def test_a_docstring_is_shown_with_its_parameters_and_without_its_markup(pages):
    text = pages["api-report.html"]
    assert "<code>publish(\n    directory: Path,\n    site: Path," in text
    assert '<a href="api-analysis.html#netlab.analysis.trust.gate"><code>gate</code></a>' in text
    for name, page in pages.items():
        assert not re.search(r":(?:func|class|data|mod|meth|attr):", page), name
        if name.startswith("api"):
            assert "``" not in page, name


def test_html_of_a_document_is_shown_and_its_comments_are_not():
    text = as_page("# A <b> `c`\n\n<!-- hidden -->\n\n<script>x</script>\n", {})
    assert text.title == "A <b> c"
    assert "<script" not in text.body and "hidden" not in text.body
    assert "&lt;script&gt;" in text.body


def test_links_and_mentions_of_documents_lead_to_their_pages():
    known = {"b.md": ("page-b.html", "Page B")}
    text = as_page("[b](../b.md#x) `b.md` [c](c.md) [d](https://x.org/b.md) `e.md`", known)
    assert '<a href="page-b.html#x">b</a>' in text.body
    assert '<a href="page-b.html">Page B</a>' in text.body
    assert "c.md" not in text.body and '<a href="https://x.org/b.md">d</a>' in text.body
    assert "<code>e.md</code>" in text.body


def test_a_table_has_a_name_of_its_own_and_no_empty_head():
    text = as_page("# T\n\n## A\n\n| | b |\n|---|---|\n| 1 | 2 |\n\n| a | b |\n|---|---|\n", {})
    assert 'aria-label="Table 1: A"' in text.body and 'aria-label="Table 2: A"' in text.body
    assert "<td></td>" in text.body and text.body.count('<th scope="col">') == 3


def test_the_guide_is_made_again_only_when_a_document_changes(tmp_path, monkeypatch):
    made = []
    make = guide_pages_module._make
    monkeypatch.setattr(guide_pages_module, "_make", lambda start: made.append(1) or make(start))
    first = guide_pages(RenderedPages(tmp_path, "p"))
    assert [page.file for page in first] == list(FILES)
    assert guide_pages(RenderedPages(tmp_path, "p")) == first and len(made) == 1
    other = tmp_path / "report.md"
    other.write_text("# Another\n")
    own = paths.own_file
    monkeypatch.setattr(paths, "own_file", lambda n: other if n == "report.md" else own(n))
    assert guide_pages(RenderedPages(tmp_path, "p"))[1].title == "Another"
    assert len(made) == 2


def test_a_report_has_the_guide_and_leads_to_it(tmp_path, pages):
    site = build_site([], tmp_path / "site", guide=True).parent
    report = {file.name: file.read_text("utf-8") for file in site.glob("*.html")}
    assert set(report) == {"index.html", *FILES}
    assert '<a href="guide.html">Guide</a>' in report["index.html"]
    assert Links(report["guide.html"]).rel["prev"] == "index.html"
    assert broken(report) == []


def test_a_notebook_cannot_take_the_name_of_a_page_of_the_guide(tmp_path):
    with pytest.raises(BadInput) as caught:
        build_site([ExecutedNotebook(tmp_path / "guide-report.ipynb")], tmp_path / "site")
    assert caught.value.code == "E-REPORT-007"


def test_no_garbage_is_collected_while_the_source_is_read(monkeypatch):
    """Before CPython 3.11.8 a collection in the middle of a syntax tree can break another's."""
    states = []
    read = api.griffe.load

    def load(*args, **options):
        states.append(gc.isenabled())
        return read(*args, **options)

    monkeypatch.setattr(api.griffe, "load", load)
    assert gc.isenabled() and api.chapters() and gc.isenabled()
    assert states == [False]
