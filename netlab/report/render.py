"""One executed notebook to a fragment of HTML, through nbconvert with netlab's own template."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nh3
from markupsafe import Markup

from netlab.files.bounded_json import parse_json, read_json
from netlab.files.reading import read_text
from netlab.files.writing import json_text
from netlab.report.cache import active
from netlab.report.page import TEMPLATES, UNCREDITED, Page, anchor, free, script, template
from netlab.version import RELEASE

if TYPE_CHECKING:  # over half a second, for pages that are made anew
    from nbconvert import HTMLExporter

    from netlab.notebooks.format import nbformat

DISPLAY_PRIORITY = [
    *("text/html", "image/svg+xml", "image/png", "image/jpeg"),
    *("text/markdown", "text/latex", "text/plain"),
]
"""Without widgets and scripts: a page runs no code."""

UNDESCRIBED = "Figure without a description; the text around it says what it shows."
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_HTML_HEADING = re.compile(r"<h([1-6])((?:\s[^>]*)?)>(.*?)</h\1>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]+)"')
_MENTION = re.compile(r"(?<!\">)<code>([\w-]+)\.ipynb</code>")
_LINK = re.compile(r'href="(?:\./)?([^":/?#]+)\.ipynb(#[^"]*)?"')


def _alt_of(output: dict) -> str:
    metadata = output.get("metadata", {})
    nested = [v for v in metadata.values() if isinstance(v, dict)]
    found = [place["alt"] for place in (metadata, *nested) if place.get("alt")]
    return str(found[0]) if found else UNDESCRIBED


@cache
def _exporter() -> HTMLExporter:
    """The exporter of all notebooks: making one compiles its templates, in half a second."""
    # half a second, where a page was not made before
    from nbconvert import HTMLExporter
    from traitlets.config import Config

    config = Config(
        {
            "NbConvertBase": {"display_data_priority": DISPLAY_PRIORITY},
            # a progress bar keeps its last state
            "CoalesceStreamsPreprocessor": {"enabled": True},
        }
    )
    exporter = HTMLExporter(
        config=config,
        template_name="cells",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_anchor_links=True,
    )
    encode = base64.b64encode
    exporter.register_filter("as_base64", lambda text: encode("".join(text).encode()).decode())
    exporter.register_filter("alt_of", _alt_of)
    return exporter


# What a page may have: a notebook may be a stranger's. The content policy of the page is the
# second wall.

_SVG = "svg g path line polyline rect circle text tspan title defs"
_CHOICES = "fieldset legend label input"
_TAGS = nh3.ALLOWED_TAGS.union(
    _SVG.split(), _CHOICES.split(), ("netlab-template", "section", "progress")
)
_OF_ALL = (
    "class id style role tabindex title hidden open colspan rowspan scope border "
    "xmlns version viewBox x y x1 x2 y1 y2 cx cy r d points width height transform "
    "fill opacity stroke stroke-width font-family font-size text-anchor"
)
_ATTRIBUTES = {
    "*": set(_OF_ALL.split()),
    "a": {"href"},
    "img": {"src", "alt"},
    "input": {"name", "value", "checked"},
    "progress": {"max", "value"},
}
_STYLES = (
    "background border border-bottom border-collapse border-radius caption-side color display "
    "fill fill-opacity flex-wrap font-family font-size font-style font-weight gap height margin "
    "margin-right max-width opacity overflow-x padding stroke stroke-dasharray stroke-dashoffset "
    "stroke-linecap stroke-linejoin stroke-opacity stroke-width text-align text-anchor "
    "vertical-align white-space width word-break"
)


def _no_data_link(tag: str, name: str, value: str) -> str | None:
    return None if name == "href" and value.strip().lower().startswith("data:") else value


def sanitized(body: str) -> str:
    """HTML without scripts, handlers, frames, forms and style sheets; of inputs only choices."""
    # nh3 empties templates, which are inert, and have the files of a table
    clean = nh3.clean(
        re.sub(r"(</?)template\b", r"\1netlab-template", body),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        generic_attribute_prefixes={"aria-", "data-"},
        filter_style_properties=set(_STYLES.split()),
        set_tag_attribute_values={"input": {"type": "radio"}},
        attribute_filter=_no_data_link,
        url_schemes={"data", "http", "https", "mailto"},
        link_rel=None,
    )
    return re.sub(r"(</?)netlab-template\b", r"\1template", clean)


def title_of(notebook: nbformat.NotebookNode, path: Path) -> str:
    """Text of the first heading of level 1, else the file's name in words."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := _HEADING.search(cell.source)):
            return re.sub(r"[*_`]", "", found[1])
    return path.stem.replace("-", " ").replace("_", " ")


def render(path: Path, pages: dict[str, str]) -> Page:
    """A page of an executed notebook, with links to the `pages` of notebooks by their names."""
    try:
        text = plain_text(path)
    except (OSError, ValueError, AttributeError, TypeError):
        text = ""  # not a notebook, as making its page says
    inputs = (path.name, text, repr(sorted(pages.items())))
    page = parse_json(active().text("page", inputs, lambda: json_text(_rendered(path, pages))))
    contents = tuple((name, text) for name, text in page["contents"])
    title, body = page["title"], Markup(page["body"])
    return Page("", title, title, "", body, contents, failed=page["failed"])


def _rendered(path: Path, pages: dict[str, str]) -> dict[str, Any]:
    from netlab.notebooks.format import read_notebook  # nbformat, as nbconvert above

    notebook = read_notebook(path)
    body = sanitized(_exporter().from_notebook_node(notebook)[0])

    def follow(link: re.Match) -> str:
        target = pages.get(link[1])
        return f'href="{target}{link[2] or ""}"' if target else 'class="elsewhere"'

    def mention(name: re.Match) -> str:
        """A link where the notebook is a page of the site."""
        return f'<a href="{pages[name[1]]}">{name[0]}</a>' if name[1] in pages else name[0]

    failed = any(
        output.output_type == "error"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    body, contents = with_ids(_MENTION.sub(mention, _LINK.sub(follow, body)))
    title = title_of(notebook, path)
    return {"title": title, "body": body, "contents": contents, "failed": failed}


def with_ids(body: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Give each heading an id of its own words; list those of level 2."""
    taken: set[str] = set(_ID.findall(body))
    contents = []

    def mark(heading: re.Match) -> str:
        level, attributes, inner = heading[1], heading[2], heading[3]
        text = html.unescape(re.sub(r"<[^>]*>", "", inner)).strip()
        own = _ID.search(attributes)
        name = own[1] if own else free(anchor(text), taken)
        taken.add(name)
        if level == "2":
            contents.append((name, text))
        kept = attributes if own else f'{attributes} id="{name}"'
        return f"<h{level}{kept}>{inner}</h{level}>"

    return _HTML_HEADING.sub(mark, body), tuple(contents)


# Pages to files: each content within the template of all pages.


class PageWriter:
    def __init__(self, site: Path, home: Page, pages: dict, **common: object):
        self._site = site
        code = script("site.js")
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        self._common = {
            "version": RELEASE,
            "script": Markup(code),
            "script_hash": f"'sha256-{digest}'",  # the content policy allows this script alone
            "css": Markup((TEMPLATES / "site.css").read_text(encoding="utf-8")),
            "home": home,
            "pages": pages,
            "contents": (),
            "before": None,
            "after": None,
            "description": "",
            "built_at": "",
            "concerns": (),
            "credit": UNCREDITED,
            **common,
        }

    def write(self, name: str, form: str, **more: object) -> None:
        text = template(form).render({**self._common, **more, "here": name})
        (self._site / name).write_text(f"{text}\n", encoding="utf-8")

    def write_chain(self, order: Sequence[Page], before: Page | None = None) -> None:
        """Write pages that lead to each other, the first of them back to `before`."""
        for place, page in enumerate(order):
            self.write(
                page.file,
                "notebook.html.j2",
                page=page,
                contents=page.contents,
                before=order[place - 1] if place else before,
                after=order[place + 1] if place + 1 < len(order) else None,
            )


# A site as one file: the pages of a study, without notebooks, single runs and files.

SINGLE = "report.html"
_MAIN = re.compile(r'<main id="content">(.*)</main>', re.DOTALL)
_PLACE = re.compile(r'(\bid="|url\(#|href="#)')
_OTHER = re.compile(r'href="([^":/?#]+)\.html(?:#([^"]*))?"')
_LEFT_OUT = re.compile(
    r'<nav class="around".*?</nav>|<a download.*?</a>|'
    r'<section>\s*<h2 id="index--downloads">.*?</section>',
    re.DOTALL,
)


def single_file(site: Path) -> Path:
    """Write the pages of a site's study one after the other into one file; return its path."""
    whole = read_text(site / "index.html")
    bodies = {}
    for name in dict.fromkeys(("index", *(found[1] for found in _OTHER.finditer(whole)))):
        page = _MAIN.search(read_text(site / f"{name}.html"))
        if page and 'href="notebooks/' not in page[1] and not name.startswith("runs-"):
            body = _PLACE.sub(lambda place, name=name: f"{place[1]}{name}--", page[1])
            bodies[name] = f'<article class="chapter" id="{name}">{body}</article>'

    def follow(link: re.Match) -> str:
        place = f"{link[1]}--{link[2]}" if link[2] else link[1]
        return f'href="#{place}"' if link[1] in bodies else 'class="elsewhere"'

    chapters = f'<main id="content">{"".join(bodies.values())}</main>'
    text = _MAIN.sub(lambda _: chapters, whole, count=1)
    target = site / SINGLE
    target.write_text(_OTHER.sub(follow, _LEFT_OUT.sub("", text)), encoding="utf-8")
    return target


# Executed notebooks as files of a site: without times, random ids and machine paths.

TIMES = ("papermill", "execution")
"""Metadata of a notebook or a cell with the times of its execution and absolute paths."""

INJECTED = "injected-parameters"
"""Tag of the cell that papermill adds; its id is random."""


def plain(content: dict[str, Any]) -> dict[str, Any]:
    """A notebook that is the same whenever it was executed, if its outputs are."""

    def timeless(part: dict[str, Any]) -> dict[str, Any]:
        metadata = part.get("metadata", {})
        return {**part, "metadata": {k: v for k, v in metadata.items() if k not in TIMES}}

    cells = list(map(timeless, content.get("cells", [])))
    for cell in cells:
        if INJECTED in cell["metadata"].get("tags", ()) and "id" in cell:
            cell["id"] = INJECTED
    return timeless({**content, "cells": cells})


def plain_text(notebook: Path) -> str:
    """An executed notebook as text, as :func:`plain` has it."""
    return json.dumps(plain(read_json(notebook)), indent=1, ensure_ascii=False) + "\n"


def copy_plain(source: Path, target: Path) -> None:
    """Copy an executed notebook as :func:`plain` has it."""
    target.write_text(plain_text(source), encoding="utf-8")
