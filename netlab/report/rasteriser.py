"""SVG to PNG by typst's renderer, with the fonts that come with matplotlib."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from netlab.charts.looks import font_folder
from netlab.files.writing import names_file

try:
    import typst

    NO_PDF = ""
except ImportError:  # an extra: it is a tenth of an installation
    NO_PDF = "typst, which makes it and figures as PNG, is not installed: pip install 'netlab[pdf]'"


PIXELS_PER_INCH = 144
SOURCE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("figure.svg")\n'


def typst_compiler(root: str) -> typst.Compiler:
    return typst.Compiler(root=root, font_paths=[str(font_folder())], ignore_system_fonts=True)


class Rasteriser:
    """Renders the figures of a site, in a directory that goes when the object does."""

    def __init__(self) -> None:
        folder = tempfile.mkdtemp(prefix="netlab-png-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._source = Path(folder) / "figure.typ"
        self._source.write_text(SOURCE, encoding="utf-8")
        self.compiler = typst_compiler(folder)

    def png(self, svg: str) -> bytes:
        """A figure as PNG; empty if it cannot be rendered."""
        figure = self._source.with_name("figure.svg")
        with names_file(figure):  # below TMPDIR, not in the site
            figure.write_text(svg, encoding="utf-8")
        try:
            made = self.compiler.compile(input=str(self._source), format="png", ppi=PIXELS_PER_INCH)
        except (RuntimeError, typst.TypstError):
            return b""
        return made if isinstance(made, bytes) else b""
