"""Markdown to the HTML of a page: tables in a frame that scrolls, links between documents."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import mistune
from markupsafe import Markup

from netlab.report.render import with_ids

_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_OWN_ID = re.compile(r"\s*\{#([\w.-]+)\}$")
_TAG = re.compile(r"<[^>]*>")
_ALIGNED = ("left", "right", "center")


@dataclass(frozen=True)
class Text:
    """A document as HTML.

    Attributes
    ----------
    title : str
        Text of its first heading.
    body : Markup
        Its content, every heading with an id.
    contents : tuple of (str, str)
        Id and text of its headings of level 2.
    """

    title: str
    body: Markup
    contents: tuple[tuple[str, str], ...]


def as_page(text: str, pages: Mapping[str, tuple[str, str]]) -> Text:
    """Convert a document in Markdown.

    A heading may end in ``{#id}``. HTML in the text is shown, not taken over; comments are removed.

    Parameters
    ----------
    text : str
        The document.
    pages : mapping
        Name of a document, as others link to it or mention it -> address and name of its page.
    """
    renderer = _Renderer(pages)
    convert = mistune.create_markdown(renderer=renderer, plugins=["table", "strikethrough"])
    body, contents = with_ids(str(convert(_COMMENT.sub("", text))))
    return Text(renderer.title, Markup(body), contents)


class _Renderer(mistune.HTMLRenderer):
    """HTML of the elements that a page has in a form of its own."""

    def __init__(self, pages: Mapping[str, tuple[str, str]]):
        super().__init__(escape=True)
        self._pages = pages
        self.title = self._heading = ""
        self._tables = 0

    def heading(self, text: str, level: int, **_attributes: object) -> str:
        own = _OWN_ID.search(text)
        text = _OWN_ID.sub("", text)
        self._heading = html.unescape(_TAG.sub("", text))
        self.title = self.title or self._heading
        mark = f' id="{own[1]}"' if own else ""
        return f"<h{level}{mark}>{text}</h{level}>\n"

    def link(self, text: str, url: str, title: str | None = None) -> str:
        """A link to another document leads to its page; one to another file is plain text."""
        parts = urlsplit(url)
        name = parts.path.rpartition("/")[2]
        if name in self._pages and not parts.netloc:
            url = self._pages[name][0] + (f"#{parts.fragment}" if parts.fragment else "")
        elif not (parts.netloc or name.endswith(".html")) and name:
            return text
        return super().link(text, url, title)

    def codespan(self, text: str) -> str:
        """The file name of a document is the name of its page, as a link."""
        address, name = self._pages.get(text.rpartition("/")[2], ("", ""))
        if not address:
            return super().codespan(text)
        return f'<a href="{html.escape(address)}">{html.escape(name)}</a>'

    def block_code(self, code: str, info: str | None = None) -> str:
        """Code; the second word after the fence is the name of its file."""
        _, _, name = (info or "").partition(" ")
        named = name if "." in name else ""
        head = f'<p class="file">{html.escape(named)}</p>' if named else ""
        return f'{head}<pre tabindex="0"><code>{html.escape(code)}</code></pre>\n'

    def table(self, text: str) -> str:
        self._tables += 1
        label = html.escape(f"Table {self._tables}: {self._heading}", quote=True)
        frame = f'<div class="netlab-table" tabindex="0" role="region" aria-label="{label}">'
        return f"{frame}<table>\n{text}</table></div>\n"

    def table_head(self, text: str) -> str:
        return f"<thead>\n<tr>{text}</tr>\n</thead>\n"

    def table_body(self, text: str) -> str:
        return f"<tbody>\n{text}</tbody>\n"

    def table_row(self, text: str) -> str:
        return f"<tr>{text}</tr>\n"

    def table_cell(self, text: str, align: str | None = None, head: bool = False) -> str:
        style = f' style="text-align:{align}"' if align in _ALIGNED else ""
        if head and text.strip():
            return f'<th scope="col"{style}>{text}</th>'
        return f"<td{style}>{text}</td>"
