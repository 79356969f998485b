"""Allowed content of a page, as a notebook may be a stranger's; a second wall is its policy."""

from __future__ import annotations

import re

import nh3

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
