"""The notebooks with their outputs, as pages and as a gallery, for `make docs`.

netlab executes them as it does for a report, one after the other in one kernel, from the examples
that come with it; no results, start-up files or kernels of the user are read. Executed copies lie
in ``build/gallery`` by the digest of all that they depend on: a second build executes what changed.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path

from sphinx.application import Sphinx

from netlab.notebooks.execution import execute
from netlab.notebooks.kernel import Kernel
from netlab.report.cache import Cache, key_of, program, tree_digest
from netlab.report.plain_notebook import plain_text
from netlab.report.publishing import PREPARE

ROOT = Path(__file__).parents[1]
STORE = ROOT / "build" / "gallery"
HOME = STORE / "home"
MEASURING = ("00-start-here", "01-run-study", "02-measure-block")
"""Notebooks that need a lab or hosts; their pages have the code alone."""

NAMES = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
MADE_BY = (program(), Path(__file__).read_bytes())
LONGEST_S = 240.0
"""Time of one notebook, after which its kernel is ended."""

_QUESTION = re.compile(r"^\*\*Question\.\*\* (.*?)(?:\n\n|\Z)", re.M | re.S)
_TITLE = re.compile(r"^# (.*)$", re.M)
_FIGURE = re.compile(r'alt="([^"]*)"[^>]*?src="data:image/svg\+xml;base64,([^"]+)"')
_PLACE = re.compile(r"^\.\. cards of (\w+) notebooks$", re.M)

CARD = """
   .. container:: panel

{picture}      :doc:`{title} </notebooks/{name}>`

      {question}
"""
PICTURE = """\
      .. image:: /build/gallery/{name}.svg
         :alt: {alt}
         :target: ../notebooks/{name}.html

"""


class Gallery:
    """Texts of executed notebooks; the kernel starts with the first that is not stored."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self._kernel: Kernel | None = None
        self._stored = Cache(STORE)
        self._examples = tree_digest(ROOT / "data" / "examples")
        shutil.rmtree(HOME, ignore_errors=True)
        HOME.mkdir(parents=True, exist_ok=True)

    def text(self, name: str) -> str:
        source = ROOT / "notebooks" / f"{name}.ipynb"
        if name in MEASURING:
            return source.read_text(encoding="utf-8")
        key = key_of("gallery", *MADE_BY, self._examples, source.read_bytes())
        known = self._stored.get(key)
        if known is None:
            known = self._executed(source).encode()
            self._stored.put(key, known)
        return known.decode()

    def _executed(self, source: Path) -> str:
        if self._kernel is None:
            self._kernel = self._open.enter_context(Kernel(PREPARE))
        output = HOME / "executed" / source.name
        execute(source, output, {}, kernel=self._kernel, silence_s=LONGEST_S)
        # commands as a reader types them, without the places of this machine
        text = re.sub(rf"cd {re.escape(str(HOME))} &(amp;)?&(amp;)? ", "", plain_text(output, {}))
        program = str(Path(sys.executable).with_name("netlab"))
        return text.replace(program, "netlab").replace(f"{ROOT}/", "")

    def cards(self, names: list[str]) -> str:
        """Each notebook's first figure, title and question, as reStructuredText."""
        return ".. container:: cards\n" + "".join(map(self._card, names))

    def _card(self, name: str) -> str:
        cells = json.loads(self.text(name))["cells"]
        first = "".join(cells[0]["source"])
        title, question = _TITLE.search(first), _QUESTION.search(first)
        if title is None or question is None:
            raise ValueError(f"{name}: its first cell has no title, or no question")
        picture = ""
        if figure := next(filter(None, map(_figure, cells)), None):
            alt, svg = figure
            (STORE / f"{name}.svg").write_bytes(svg)
            picture = PICTURE.format(name=name, alt=alt)
        words = " ".join(question[1].split())
        return CARD.format(picture=picture, title=title[1], name=name, question=words)

    def read(self, _app: Sphinx, page: str, source: list[str]) -> None:
        folder, _, name = page.rpartition("/")
        if folder == "notebooks":
            source[0] = self.text(name)
        elif page == "docs/gallery":
            of = {"measuring": [n for n in NAMES if n in MEASURING]}
            of["analysing"] = [n for n in NAMES if n not in MEASURING]
            source[0] = _PLACE.sub(lambda place: self.cards(of[place[1]]), source[0])

    def outdated(self, *_arguments: object) -> list[str]:
        """All of its pages: what they show may have changed though their sources did not."""
        return ["docs/gallery", *(f"notebooks/{name}" for name in NAMES)]

    def close(self, *_arguments: object) -> None:
        self._open.close()


def _figure(cell: dict) -> tuple[str, bytes] | None:
    """Alt text and SVG of the first figure of a cell."""
    for output in cell.get("outputs", ()):
        found = _FIGURE.search("".join(output.get("data", {}).get("text/html", "")))
        if found:
            return " ".join(html.unescape(found[1]).split()), base64.b64decode(found[2])
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    os.environ["NETLAB_HOME"] = str(HOME)  # else results of the user stand for the examples
    gallery = Gallery()
    app.connect("source-read", gallery.read)
    app.connect("env-get-outdated", gallery.outdated)
    app.connect("build-finished", gallery.close)
    return {"parallel_read_safe": False}
