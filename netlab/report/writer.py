"""Pages to files: each content within the template of all pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from netlab import __version__
from netlab.report.page import Page, anchor
from netlab.report.render import TEMPLATES
from netlab.report.scripts import script


class PageWriter:
    """Writes the pages of a site."""

    def __init__(self, site: Path, home: Page, pages: Sequence[Page], **common: object):
        self._site = site
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(TEMPLATES),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            keep_trailing_newline=True,
        )
        self._environment.filters["anchor"] = anchor
        code = script("site.js")
        self._common = {
            "version": __version__,
            "script": Markup(code),
            "script_hash": _csp_hash(code),
            "css": Markup((TEMPLATES / "site.css").read_text(encoding="utf-8")),
            "home": home,
            "pages": pages,
            "contents": (),
            "before": None,
            "after": None,
            **common,
        }

    def write(self, name: str, template: str, **more: object) -> None:
        """Write one page."""
        context = {**self._common, **more, "here": name}
        text = self._environment.get_template(template).render(**context)
        (self._site / name).write_text(text, encoding="utf-8")

    def write_chain(self, order: Sequence[Page], before: Page | None) -> None:
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


def _csp_hash(script: str) -> str:
    """Source expression of a Content-Security-Policy that allows this one inline script."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"'sha256-{digest}'"
