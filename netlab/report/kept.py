"""Pages that are reused: rendering a notebook takes up to a second, a page of charts two."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from markupsafe import Markup

from netlab.files.json_file import write_text
from netlab.report.inputs import digest_of
from netlab.report.page import Page
from netlab.report.render import Rendered, render


class RenderedPages:
    """Pages in a directory, each under a digest of its inputs.

    A rendered notebook depends on the package, the executed notebook, and the addresses of the
    notebooks that it names; other pages on the package and what their maker states.

    Parameters
    ----------
    folder : Path
        Where they are stored.
    package : str
        Digest of the package, from :func:`netlab.report.inputs.package_digest`.
    """

    def __init__(self, folder: Path, package: str):
        self._folder, self._package = folder, package
        self._used: set[str] = set()

    def render(self, path: Path, links: dict[str, str]) -> Rendered:
        """As :func:`netlab.report.render.render`, from the stored page where there is one."""
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return render(path, links)  # refuses it
        named = {name: file for name, file in links.items() if name in content}
        file = self._file(path.stem, content, named)
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            return Rendered(**(stored | {"contents": _contents(stored)}))
        except _UNUSABLE:
            made = render(path, links)
            self._store(file, asdict(made))
            return made

    def pages(
        self, name: str, inputs: Mapping[str, object], make: Callable[[], list[Page]]
    ) -> list[Page]:
        """Pages of the measured study, from the stored ones where there are.

        Parameters
        ----------
        name : str
            Distinguishes several calls.
        inputs : mapping
            What the pages depend on besides the package.
        make : callable
            Makes them.
        """
        file = self._file(name, inputs)
        try:
            stored = [_page(one) for one in json.loads(file.read_text(encoding="utf-8"))]
        except _UNUSABLE:
            stored = []
        if not stored:
            stored = make()
            self._store(file, [asdict(page) for page in stored])
        return stored

    def _file(self, *inputs: str | Mapping[str, object]) -> Path:
        file = self._folder / f"{digest_of(self._package, *inputs)[:32]}.json"
        self._used.add(file.name)
        return file

    def _store(self, file: Path, content: object) -> None:
        write_text(file, json.dumps(content))

    def tidy(self) -> None:
        """Remove the pages that were not used since this object was made."""
        for file in self._folder.glob("*.json"):
            if file.name not in self._used:
                file.unlink(missing_ok=True)


_UNUSABLE = (OSError, ValueError, TypeError, KeyError, AttributeError)
"""Errors of a stored page that is absent or damaged."""


def _page(stored: dict) -> Page:
    return Page(**(stored | {"contents": _contents(stored), "body": Markup(stored["body"])}))


def _contents(stored: dict) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in stored["contents"])
