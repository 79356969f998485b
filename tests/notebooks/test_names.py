"""Names of notebooks in the texts of the notebooks."""

from __future__ import annotations

import re

import pytest

from netlab.files import paths
from netlab.notebooks.format import read_notebook

NOTEBOOKS = sorted(paths.notebooks_dir().glob("*.ipynb"))
NAME = re.compile(r"[0-9]{2}-[a-z0-9-]+\.ipynb")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_that_is_named_exists_and_is_a_link(notebook):
    for cell in read_notebook(notebook).cells:
        if cell.cell_type != "markdown":
            continue
        links = re.findall(rf"\[`({NAME.pattern})`\]\(({NAME.pattern})\)", cell.source)
        assert all(text == target for text, target in links)
        assert all((notebook.parent / target).exists() for _, target in links)
        # the path in a command of a shell is none
        named = re.findall(rf"(?<![/\w]){NAME.pattern}", cell.source)
        assert len(named) == 2 * len(links), cell.source
