"""A page of the site: its address, its heading, its sections, and the ids of them."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from markupsafe import Markup

FOLD_ABOVE = 12
"""Longest table that is not folded."""


@dataclass(frozen=True)
class Page:
    """A page of the site."""

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
    body: Markup
    name: str = ""

    @property
    def id(self) -> str:
        """Address of the heading within its page: `name`, else the words of the title."""
        return self.name or anchor(self.title)


class Shown(Protocol):
    def _repr_html_(self) -> str: ...


def anchor(text: str) -> str:
    """Id of a heading: its words in lower case, joined by ``-``."""
    words = re.sub(r"<[^>]*>", "", text).replace("<->", " both ").replace("->", " to ")
    return re.sub(r"[^a-z0-9]+", "-", html.unescape(words).lower()).strip("-") or "part"


def as_html(shown: Shown) -> Markup:
    """The HTML of a table, chart or sentence."""
    return Markup(shown._repr_html_())


def page_of(
    file: str,
    title: str,
    short: str,
    summary: str,
    sections: Sequence[Section],
    *,
    part: str = "",
) -> Page:
    """A page with a heading of level 1 and its sections."""
    name = anchor(title)
    while name in {section.id for section in sections}:
        name += "-page"
    parts = [Markup('<h1 id="{}">{}</h1>\n').format(name, title)]
    for section in sections:
        frame = '<section>\n<h2 id="{0}">{1}</h2>\n{2}\n</section>\n'
        parts.append(Markup(frame).format(section.id, section.title, section.body))
    contents = tuple((section.id, section.title) for section in sections)
    return Page(file, title, short, summary, Markup("").join(parts), contents, part)


def folded(what: str, rows: int, shown: Shown) -> Markup:
    """A table, folded behind its number of rows where it is long."""
    body = as_html(shown)
    if rows <= FOLD_ABOVE:
        return body
    head = Markup('<details class="rows"><summary>{}: {}</summary>').format(what, rows)
    return head + body + Markup("</details>")
