"""Flags on the pages of a report: the table of all, and those of one run with their meaning."""

from __future__ import annotations

from collections.abc import Mapping

from markupsafe import Markup

from netlab.report.page import plain_table
from netlab.results.flags import Flag, in_plain, meaning_of, remedy_of, split_flags

PAGE = "how-to-read.html"
"""The page of a report that has the table of all flags."""

HEADS = ("flag", "meaning", "its run is", "what to do")
VALID = "valid"


def anchor_of(flag: str) -> str:
    """Id of a flag's row in the table of all flags."""
    return f"flag-{flag}"


def table() -> Markup:
    """All flags: meaning, class and remedy."""
    rows = [
        (anchor_of(flag), (flag, in_plain(flag.meaning), flag.validity, in_plain(flag.remedy)))
        for flag in Flag
    ]
    return plain_table("Flags of runs", HEADS, rows, stacked=True)


def as_text(run: Mapping[str, str], none: str = VALID) -> str:
    """Flags of a run and their reasons; `none` of a run without one."""
    return f"{run['flags']}: {run['message']}" if run["flags"] else none


def with_titles(run: Mapping[str, str], none: str = VALID, *, linked: bool = False) -> Markup:
    """The same, each flag with its meaning and remedy as its title; `linked` to their table."""
    if not run["flags"]:
        return Markup("{}").format(none)
    flags = Markup(", ").join(_titled(flag, linked) for flag in split_flags(run["flags"]))
    return Markup("{}: {}").format(flags, run["message"])


def _titled(flag: str, linked: bool) -> Markup:
    title = f"{meaning_of(flag)}. To do: {remedy_of(flag)}."
    if linked and flag in set(Flag):
        place = f"{PAGE}#{anchor_of(flag)}"
        return Markup('<a href="{}" title="{}">{}</a>').format(place, title, flag)
    return Markup('<abbr title="{}">{}</abbr>').format(title, flag)
