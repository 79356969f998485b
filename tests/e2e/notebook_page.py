"""A notebook executed as papermill does, and the page that it shows."""

from __future__ import annotations

from pathlib import Path

import openings
import papermill


def executed_page(
    notebook: Path, directory: Path, *, drawn: bool | None = True, **parameters: object
) -> str:
    """Execute a notebook and check its order; the HTML of its outputs.

    Paths are passed as text. With `drawn` None the notebook may be without a chart.
    """
    given = {k: str(v) if isinstance(v, Path) else v for k, v in parameters.items()}
    executed = papermill.execute_notebook(
        notebook, directory / "out.ipynb", given, progress_bar=False
    )
    outputs = [o for c in executed.cells if c.cell_type == "code" for o in c.outputs]
    assert all(o.get("name") != "stderr" for o in outputs), outputs
    page = "\n".join(o.data.get("text/html", "") for o in outputs if "data" in o)
    openings.check(executed, drawn="<figure" in page if drawn is None else drawn)
    return page
