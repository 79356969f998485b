"""What notebooks show, and its order: question, chart, one sentence of answer, table, method."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import papermill

from netlab.files.paths import notebook as notebook_file

PARTS = ("chart", "answer", "table")
"""Tags of the cells that show them."""


NOT_WORDS = re.compile(r"<(svg|table|style|script).*?</\1>|<[^>]*>", re.DOTALL)


def tags(cell: nbformat.NotebookNode) -> list[str]:
    return [tag for tag in cell.metadata.get("tags", ()) if tag in PARTS]


def order_of(notebook: nbformat.NotebookNode) -> list[str]:
    """The parts of a notebook as they come, ``question`` and ``method`` by their words."""
    found = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            if re.search(r"^\*\*Question\.\*\* [^\n]*?\?$", cell.source, re.MULTILINE):
                found.append("question")
            found += ["method"] * len(re.findall(r"^## Method\b", cell.source, re.MULTILINE))
        else:
            found += tags(cell)
    return found


def shown(cell: nbformat.NotebookNode) -> str:
    """HTML or Markdown of all outputs of a cell."""
    data = [output.get("data", {}) for output in cell.outputs]
    return "\n".join(d.get("text/html") or d.get("text/markdown") or "" for d in data)


def check(notebook: nbformat.NotebookNode, *, drawn: bool = True) -> None:
    """Assert that an executed notebook shows a chart, a computed sentence and a table.

    Parameters
    ----------
    notebook : NotebookNode
        After its execution.
    drawn : bool
        False where the results have nothing to draw.
    """
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        for part in tags(cell):
            text = shown(cell)
            if part == "chart" and drawn:
                assert "image/svg+xml" in text or "<svg" in text, cell.source
            elif part == "answer":
                words = NOT_WORDS.sub(" ", text)
                assert words.strip(), cell.source
                if len(tags(cell)) == 1:
                    assert re.search(r"\d", words) or not drawn, words
                    assert len(re.findall(r"[.?!](?:\s|$)", words.strip())) == 1, words
            elif part == "table":
                assert "<table" in text or not drawn, cell.source


def executed_page(
    name: str, directory: Path, *, drawn: bool | None = True, **parameters: object
) -> str:
    """Execute a notebook with papermill and check its order; the HTML of its outputs.

    Paths are passed as text. With `drawn` None the notebook may be without a chart.
    """
    given = {k: str(v) if isinstance(v, Path) else v for k, v in parameters.items()}
    executed = papermill.execute_notebook(
        notebook_file(f"{name}.ipynb"),
        directory / "out.ipynb",
        given,
        progress_bar=False,
        cwd=directory,
    )
    outputs = [o for c in executed.cells if c.cell_type == "code" for o in c.outputs]
    assert all(o.get("name") != "stderr" for o in outputs), outputs
    data = [o.get("data", {"text/html": o.get("text", "")}) for o in outputs]
    page = "\n".join(d.get("text/html", d.get("text/markdown", "")) for d in data)
    check(executed, drawn="<figure" in page if drawn is None else drawn)
    return page
