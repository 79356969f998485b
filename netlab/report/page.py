"""A page of a site: its address, sections and scripts; and the directory that it is built in."""

from __future__ import annotations

import errno
import glob
import html
import os
import re
import shutil
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import jinja2
from markupsafe import Markup

from netlab.errors import BadInput, NetlabError
from netlab.files.reading import read_bytes
from netlab.files.scratch_directory import scratch
from netlab.files.writing import no_inode
from netlab.study.schedule import slug
from netlab.version import RELEASE

# A page of the site: its address, its heading, its sections, and the ids of them.

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


class Shown(Protocol):
    def _repr_html_(self) -> str: ...


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


def anchor(text: str) -> str:
    """Id of a heading: its words in lower case, joined by ``-``."""
    words = re.sub(r"<[^>]*>", "", text).replace("<->", " both ").replace("->", " to ")
    return re.sub(r"[^a-z0-9]+", "-", html.unescape(words).lower()).strip("-") or "part"


def free(name: str, taken: Collection[str]) -> str:
    """The name, with a number where it is taken."""
    numbered = (f"{name}-{number}" for number in count(2))
    return name if name not in taken else next(one for one in numbered if one not in taken)


def as_html(shown: Markup | Shown) -> Markup:
    return shown if isinstance(shown, Markup) else Markup(shown._repr_html_())


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
    label: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[object]]]
) -> Markup:
    """A table of runs; a row with an id begins with its head."""
    return Markup(template("runs.html.j2").render(label=label, heads=heads, rows=rows))


def folded(what: str, rows: int, shown: Shown, above: int = FOLD_ABOVE) -> Markup:
    """A table, folded behind its number of rows where it is long."""
    body = as_html(shown)
    if rows <= above:
        return body
    frame = '<details class="rows"><summary>{}: {}</summary>{}</details>'
    return Markup(frame).format(what, rows, body)


# Templates; scripts of pages and of outputs of notebooks, put together in one scope.

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


# The directory of a site: built beside it, moved there when complete.

MARKER = ".netlab-site"
"""Marker file of a site, so that building may replace the directory: release, name of the study."""


def study_of_site(site: Path) -> str:
    """Name of the study whose report a directory holds; empty if there is none, or unknown."""
    try:
        _, name, *_ = read_bytes(site / MARKER).decode("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return ""
    return name


@contextmanager
def replacing(target: Path, study: str = "") -> Iterator[Path]:
    """Directory that takes the place of `target` at the end; a failure leaves the old one."""
    _check(target)
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            work = stack.enter_context(scratch("site", beside=target))
        except OSError as error:
            text = f"cannot write a site beside {target}: {error.strerror}"
            raise NetlabError(text, code="E-REPORT-003") from None
        try:
            yield work
            (work / MARKER).write_text(f"{RELEASE}\n{study}\n", encoding="utf-8")
            work.chmod(0o755)
            _swap(work, target)
        except OSError as error:
            # the file, by its place in the site; one elsewhere, as in a full TMPDIR, by its own
            place = str(error.filename or target).replace(str(work), str(target), 1)
            text = f"cannot write {place}: {error.strerror or error}"
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                text += no_inode(error.filename or target)
            raise NetlabError(text, code="E-REPORT-004") from None


def _check(target: Path) -> None:
    names: list[str] = []
    try:
        names = os.listdir(target)
    except FileNotFoundError:
        pass
    except NotADirectoryError:  # it, or a directory above it, which making it will say
        if target.parent.is_dir():
            text = "not a directory"
            raise BadInput(text, key="out_dir", value=str(target), code="E-REPORT-005") from None
    # looked for again, as another report may have replaced and removed what was listed
    if names and MARKER not in names and not (target / MARKER).is_file():
        text = "contains files but is not a netlab site; choose another or empty it"
        raise BadInput(text, key="out_dir", value=str(target), code="E-REPORT-006")


def _swap(work: Path, target: Path) -> None:
    """Move the finished site into place, or the old one back; of two reports the later stays."""
    # random, as in a container the next process may have the same number
    own = work.name.rpartition("-")[2]
    old = target.with_name(f".{target.name}.{own}{REPLACED}")
    taken = True
    while taken:
        try:
            with suppress(FileNotFoundError):
                os.rename(target, old)
            os.rename(work, target)
            taken = False
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        finally:  # also when a signal comes between the two
            if taken and old.exists() and not target.exists():
                os.rename(old, target)
        _remove_replaced(target)


def _remove_replaced(target: Path) -> None:
    """Remove sites that were replaced, those of a report included that ended meanwhile.

    What a site takes the place of may also be a link to one, or an empty directory.
    """
    for old in target.parent.glob(f".{glob.escape(target.name)}.*{REPLACED}"):
        if not target.exists():
            continue
        with suppress(OSError):
            if old.is_symlink():
                old.unlink()
            elif (old / MARKER).is_file():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rmdir()


REPLACED = ".old"
