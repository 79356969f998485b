"""Pages to files: each content within the template of all pages."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from netlab.report.page import UNCREDITED, Page
from netlab.report.templating import TEMPLATES, script, template
from netlab.version import RELEASE


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
