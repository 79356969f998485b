"""One executed notebook to a fragment of HTML, through nbconvert with netlab's own template."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from traitlets.config import Config

from netlab.errors import BadInput

TEMPLATES = Path(__file__).parent / "templates"
DISPLAY_PRIORITY = [
    "text/html",
    "image/svg+xml",
    "image/png",
    "image/jpeg",
    "text/markdown",
    "text/latex",
    "text/plain",
]
"""Without widgets and scripts: a page runs no code."""

UNDESCRIBED = "Figure without a description; the text around it says what it shows."
_HEADING = re.compile(r"^#\s+(.+?)\s*#*\s*$", re.MULTILINE)
_LINK = re.compile(r'href="(?:\./)?([^":/?#]+)\.ipynb(#[^"]*)?"')


@dataclass(frozen=True)
class Rendered:
    """A notebook as HTML.

    Parameters
    ----------
    title : str
        Text of its first heading of level 1, else its file name.
    body : str
        The cells, without a page around them.
    failed : bool
        A cell ended in an error.
    """

    title: str
    body: str
    failed: bool


def _as_base64(text: str | list[str]) -> str:
    return base64.b64encode("".join(text).encode()).decode()


def _alt_of(output: dict) -> str:
    metadata = output.get("metadata", {})
    nested = [v for v in metadata.values() if isinstance(v, dict)]
    found = [place["alt"] for place in (metadata, *nested) if place.get("alt")]
    return str(found[0]) if found else UNDESCRIBED


def _exporter() -> HTMLExporter:
    config = Config({"NbConvertBase": {"display_data_priority": DISPLAY_PRIORITY}})
    exporter = HTMLExporter(
        config=config,
        template_name="cells",
        extra_template_basedirs=[str(TEMPLATES)],
        exclude_anchor_links=True,
    )
    exporter.register_filter("as_base64", _as_base64)
    exporter.register_filter("alt_of", _alt_of)
    return exporter


def read_notebook(path: Path) -> nbformat.NotebookNode:
    """Read an executed notebook.

    Raises
    ------
    BadInput
        The file does not exist, or is not a notebook.
    """
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, KeyError, AttributeError, nbformat.ValidationError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise BadInput(
            f"cannot be read as a notebook: {reason}", where=str(path), code="E-REPORT-002"
        ) from None


def settle_streams(notebook: nbformat.NotebookNode) -> None:
    """Reduce printed output to what a terminal shows in the end.

    Consecutive pieces of a stream are joined, a carriage return restarts its line (a progress bar
    keeps its last state), and blank output is removed.
    """
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        kept: list[nbformat.NotebookNode] = []
        for output in cell.outputs:
            last = kept[-1] if kept else None
            if output.output_type != "stream":
                kept.append(output)
            elif last is not None and last.output_type == "stream" and last.name == output.name:
                last.text += output.text
            else:
                kept.append(output)
        for output in kept:
            if output.output_type == "stream":
                lines = output.text.replace("\r\n", "\n").split("\n")
                output.text = "\n".join(_overwritten(line) for line in lines)
        cell.outputs = [o for o in kept if o.output_type != "stream" or o.text.strip()]


def _overwritten(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1] if states else ""


def title_of(notebook: nbformat.NotebookNode, path: Path) -> str:
    """Text of the first heading of level 1, else the file's name in words."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := _HEADING.search(cell.source)):
            return re.sub(r"[*_`]", "", found[1])
    return path.stem.replace("-", " ").replace("_", " ")


def render(path: Path, pages: dict[str, str]) -> Rendered:
    """Render an executed notebook.

    Parameters
    ----------
    path : Path
        The notebook.
    pages : dict
        Notebook name without suffix -> page of the site; links between notebooks follow it, and
        links to notebooks outside the site become plain text.
    """
    notebook = read_notebook(path)
    settle_streams(notebook)
    body, _ = _exporter().from_notebook_node(notebook)

    def follow(link: re.Match) -> str:
        target = pages.get(link[1])
        return f'href="{target}{link[2] or ""}"' if target else 'class="elsewhere"'

    failed = any(
        output.output_type == "error"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )
    return Rendered(title_of(notebook, path), _LINK.sub(follow, body), failed)
