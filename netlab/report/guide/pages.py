"""Pages of the guide: documents in reading order, then the API reference."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from netlab.files import paths
from netlab.report.guide import api
from netlab.report.guide.markdown import Text, as_page
from netlab.report.kept import RenderedPages
from netlab.report.page import Page

PART = "Guide"
START = "guide.html"


@dataclass(frozen=True)
class GuideDocument:
    """A document of the guide.

    Attributes
    ----------
    source : str
        Its file.
    short, summary : str
        Its name in the navigation, and a line on its content.
    """

    source: str
    short: str
    summary: str

    @property
    def file(self) -> str:
        """Address of its page in a report."""
        stem = Path(self.source).stem.lower()
        return START if stem == "guide" else f"guide-{stem}.html"


DOCUMENTS = (
    GuideDocument("guide.md", "Guide", "first study, own hosts, bundle, editor and shell"),
    GuideDocument("report.md", "Reading a report", "first screen, quality gate, pages, files"),
    GuideDocument(
        "columns.md", "Flags and columns", "every flag of a run, every column of the results"
    ),
    GuideDocument("study.md", "Writing a study", "every key, with an example"),
    GuideDocument("factors.md", "Factors", "further factors, timing of a group, published tables"),
    GuideDocument("tuning.md", "Tunings and knobs", "settings of a tuning, and their revert"),
    GuideDocument("precision.md", "Statistics", "rounds, intervals, precision"),
    GuideDocument("compare.md", "Comparison", "two sets of results, cell by cell"),
    GuideDocument("screen.md", "Screening", "which knobs of a tuning matter, and the least set"),
    GuideDocument("bundle.md", "Bundles", "results and report in one file"),
    GuideDocument("fleet.md", "Fleets", "one study over many pairs of hosts"),
    GuideDocument("commands.md", "Commands", "what each command does"),
    GuideDocument("PROTOCOL.md", "Protocol", "requests and answers of the agent"),
    GuideDocument("promises.md", "Promises", "faults and what is seen of them"),
    GuideDocument("calibration.md", "Calibration", "netlab beside known rates"),
    GuideDocument("benchmark.md", "Benchmark", "netlab beside its peers"),
    GuideDocument("CONTRIBUTING.md", "Contributing", "layout, rules, checks"),
)
_API = tuple(map(api.page_name, api.rooms()))
FILES = (*(document.file for document in DOCUMENTS), *_API)
"""Addresses of all pages of the guide in a report."""


def guide_pages(kept: RenderedPages | None = None, *, start: str = START) -> list[Page]:
    """The guide in reading order.

    Parameters
    ----------
    kept : RenderedPages, optional
        Has the pages, if they were made of the same package and documents.
    start : str
        Address of the first page.
    """
    if kept is None:
        return _make(start)
    inputs = {"texts": {d.source: _text_of(d) for d in DOCUMENTS}, "start": start}
    return kept.pages(PART, inputs, lambda: _make(start))


def _text_of(document: GuideDocument) -> str:
    return paths.own_file(document.source).read_text(encoding="utf-8")


def _make(start: str) -> list[Page]:
    addresses = {d.source: (start if d.file == START else d.file, d.short) for d in DOCUMENTS}
    made = [
        _page(
            addresses[document.source][0],
            document.short,
            document.summary,
            as_page(_text_of(document), addresses),
        )
        for document in DOCUMENTS
    ]
    for chapter in api.chapters():
        text = as_page(chapter.text, addresses)
        made.append(_page(chapter.file, chapter.short, f"API of {chapter.name}", text))
    return made


def _page(file: str, short: str, summary: str, text: Text) -> Page:
    contents = tuple((name, _last(shown)) for name, shown in text.contents)
    return Page(file, text.title, short, summary, text.body, contents, PART)


def _last(heading: str) -> str:
    """A heading in the contents list: a module without the names of its packages."""
    return heading.rpartition(".")[2] if heading.startswith("netlab.") else heading


def is_api(page: Page) -> bool:
    """True for a page of the API reference."""
    return page.file in _API


def neighbours(page: Page, pages: Iterable[Page]) -> list[Page]:
    """Pages in the navigation of one: the documents; on a page of the API its other pages too."""
    return [p for p in pages if is_api(page) or not is_api(p) or p.file == api.page_name(api.FACE)]


def api_neighbours(page: Page, pages: Iterable[Page]) -> list[Page]:
    """Pages in a second navigation: on a page of the API its pages, on a document none."""
    return [p for p in pages if is_api(p)] if is_api(page) else []
