"""Templates; scripts of pages and of outputs of notebooks, put together in one scope."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from typing import Protocol

import jinja2
from markupsafe import Markup


class Shown(Protocol):
    def _repr_html_(self) -> str: ...


def anchor(text: str) -> str:
    """Id of a heading: its words in lower case, joined by ``-``."""
    words = re.sub(r"<[^>]*>", "", text).replace("<->", " both ").replace("->", " to ")
    return re.sub(r"[^a-z0-9]+", "-", html.unescape(words).lower()).strip("-") or "part"


def as_html(shown: Markup | Shown) -> Markup:
    return shown if isinstance(shown, Markup) else Markup(shown._repr_html_())


TEMPLATES = Path(__file__).parent / "templates"


@cache
def template(name: str) -> jinja2.Template:
    """A template of HTML; texts are escaped."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"anchor": anchor, "as_html": as_html}
    return environment.get_template(name)


@cache
def script(last: str) -> str:
    """Sorting and filtering of tables, the choosers of an explorer, and what starts them."""
    names = ("tables.js", "explore.js", last)
    parts = "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)
    return f'(() => {{\n"use strict";\n{parts}}})();\n'
