"""Rendered notebooks that are reused: rendering one takes up to a second."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from netlab.files.json_file import write_text
from netlab.report.inputs import digest_of
from netlab.report.render import Rendered, render


class RenderedPages:
    """Rendered notebooks in a directory, each under a digest of its inputs.

    A page depends on the package, the executed notebook, and the addresses of the notebooks that
    it names.

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
        digest = digest_of(self._package, path.stem, content, named)
        file = self._folder / f"{digest[:32]}.json"
        self._used.add(file.name)
        try:
            stored = json.loads(file.read_text(encoding="utf-8"))
            contents = tuple((name, text) for name, text in stored.pop("contents"))
            return Rendered(**stored, contents=contents)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            made = render(path, links)
            write_text(file, json.dumps(asdict(made)))
            return made

    def tidy(self) -> None:
        """Remove the pages that were not used since this object was made."""
        for file in self._folder.glob("*.json"):
            if file.name not in self._used:
                file.unlink(missing_ok=True)
