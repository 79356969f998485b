"""A page of the site: its address, its heading, its sections, and the ids of them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from netlab.errors import BadInput
from netlab.report.templating import Shown, anchor, as_html, template
from netlab.study.schedule import slug

FOLD_ABOVE = 12
"""Longest table that is not folded."""

MOST_RUNS = 5_000
"""Runs that a site or an explorer shows one by one; of more, the last ones of each cell or view."""

MOST_LISTED = 5_000
"""Rows of the longest table of runs or streams; its CSV has all."""


@dataclass(frozen=True)
class Credit:
    """Author and address of a report; empty if not stated."""

    author: str = ""
    url: str = ""

    def __post_init__(self) -> None:
        if self.url and not re.fullmatch(r"https?://[^\s\\{}]+", self.url):
            message = "is not an address of the web, such as https://example.org/report/"
            raise BadInput(message, key="--url", value=self.url, code="E-REPORT-025")


UNCREDITED = Credit()


@dataclass(frozen=True)
class Page:
    file: str
    title: str
    short: str
    summary: str
    body: Markup
    contents: tuple[tuple[str, str], ...] = ()
    part: str = ""
    failed: bool = False
    notebook: str = ""


@dataclass(frozen=True)
class Section:
    """A heading of level 2 and what follows it."""

    title: str
    body: Markup | Shown
    name: str = ""

    @property
    def id(self) -> str:
        """Address of the heading within its page: `name`, else the words of the title."""
        return self.name or anchor(self.title)


def free(name: str, taken: Collection[str]) -> str:
    """The name, with a number where it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


PAGES: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("pages.toml").read_text(encoding="utf-8")
)
"""Title, short title, summary, group and explanations of pages, by their names."""

GROUPS = ("Result", "Evidence", "2003", "How to read this")
"""Groups of pages in their order; the first has the pages that state none."""


def navigation(pages: Iterable[Page]) -> dict[str, dict[str, list[Page]]]:
    """Pages in four groups, each by part: those of a part are folded."""
    found: dict[str, dict[str, list[Page]]] = {name: {} for name in GROUPS}
    for page in pages:
        stated = PAGES.get(Path(page.file).stem, {}).get("group", GROUPS[0])
        group = "Evidence" if page.part else stated
        found[group].setdefault(page.part, []).append(page)
    return {name: parts for name, parts in found.items() if parts}


TITLES = {name: about["title"] for name, about in PAGES.items() if "title" in about}
OWN_FILES = tuple(f"{name}.html" for name in ("index", "report", *TITLES))
"""Pages that a notebook cannot take the name of."""


def page(name: str, *sections: Section) -> Page:
    title, about = TITLES[name], PAGES[name]
    return page_of(f"{name}.html", title, about.get("short", title), about["summary"], sections)


def page_of(
    file: str, title: str, short: str, summary: str, sections: Sequence[Section], *, part: str = ""
) -> Page:
    """A page with a heading of level 1 and its sections."""
    name = anchor(title)
    while name in {section.id for section in sections}:
        name += "-page"
    body = Markup(template("sections.html.j2").render(id=name, title=title, sections=sections))
    contents = tuple((section.id, section.title) for section in sections)
    return Page(file, title, short, summary, body, contents, part)


def page_name(group: str) -> str:
    """Address of the page of a group's runs."""
    return f"runs-{slug(group)}.html"


def plain_table(
    label: str,
    heads: Sequence[str],
    rows: Iterable[tuple[str, Sequence[object]]],
    *,
    stacked: bool = False,
) -> Markup:
    """A table of runs; a row with an id begins with its head.

    `stacked` cells, which are sentences, lie below each other on a narrow page.
    """
    words = {"label": label, "heads": heads, "rows": rows, "stacked": stacked}
    return Markup(template("runs.html.j2").render(**words))


def folded(what: str, rows: int, shown: Shown, above: int = FOLD_ABOVE) -> Markup:
    """A table, folded behind its number of rows where it is long."""
    body = as_html(shown)
    if rows <= above:
        return body
    frame = '<details class="rows"><summary>{}: {}</summary>{}</details>'
    return Markup(frame).format(what, rows, body)
