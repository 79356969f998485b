"""SVG to PNG by typst's renderer, with the fonts that come with matplotlib."""

from __future__ import annotations

import tempfile
from pathlib import Path

import typst

from netlab.charts.theme import font_folder

PIXELS_PER_INCH = 144
SOURCE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("figure.svg")\n'


class Rasteriser:
    """Renders figures; one of them serves all figures of a site.

    The directory that typst reads from goes when the object does.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="netlab-png-")
        self._source = Path(self._folder.name) / "figure.typ"
        self._source.write_text(SOURCE, encoding="utf-8")
        self._compiler = typst.Compiler(
            root=self._folder.name, font_paths=[str(font_folder())], ignore_system_fonts=True
        )

    def png(self, svg: str) -> bytes:
        """A figure as PNG; empty if it cannot be rendered."""
        self._source.with_name("figure.svg").write_text(svg, encoding="utf-8")
        try:
            made = self._compiler.compile(
                input=str(self._source), format="png", ppi=PIXELS_PER_INCH
            )
        except (RuntimeError, typst.TypstError):
            return b""
        return made if isinstance(made, bytes) else b""
