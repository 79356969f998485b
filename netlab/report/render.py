"""One executed notebook to a fragment of HTML, through nbconvert with netlab's own template."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from netlab.files.bounded_json import parse_json
from netlab.files.writing import json_text
from netlab.report.active_cache import active
from netlab.report.allowed_html import sanitized
from netlab.report.page import Page, free
from netlab.report.plain_notebook import plain_text, rename
from netlab.report.templating import TEMPLATES, anchor

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


def title_of(notebook: nbformat.NotebookNode, path: Path) -> str:
    """Text of the first heading of level 1, else the file's name in words."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := _HEADING.search(cell.source)):
            return re.sub(r"[*_`]", "", found[1])
    return path.stem.replace("-", " ").replace("_", " ")


def render(path: Path, pages: dict[str, str], names: Mapping[str, str]) -> Page:
    """A page of an executed notebook, with links to the `pages` of notebooks by their names.

    `names` stand in place of directories of this machine.
    """
    try:
        text = plain_text(path, names)
    except (OSError, ValueError, AttributeError, TypeError):
        text = ""  # not a notebook, as making its page says
    inputs = (path.name, text, repr(sorted(pages.items())))
    page = parse_json(
        active().text("page", inputs, lambda: json_text(_rendered(path, pages, names)))
    )
    contents = tuple((name, text) for name, text in page["contents"])
    title, body = page["title"], Markup(page["body"])
    return Page("", title, title, "", body, contents, failed=page["failed"])


def _rendered(path: Path, pages: dict[str, str], names: Mapping[str, str]) -> dict[str, Any]:
    from netlab.notebooks.format import read_notebook  # nbformat, as nbconvert above

    notebook = read_notebook(path)
    for cell in notebook.cells:
        rename(cell, names)
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
