"""Notebooks use names that the package has: found here in seconds, not where they are executed."""

from __future__ import annotations

import ast
import importlib
import json
import pkgutil
from pathlib import Path

import pandas as pd
import pytest

import netlab.face

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def code_of(notebook: Path) -> ast.Module:
    """The code of all cells, without lines of magic."""
    cells = json.loads(notebook.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = "\n".join(sources).splitlines()
    return ast.parse("\n".join(line for line in lines if not line.startswith(("%", "!"))))


def imported(code: ast.Module) -> set[str]:
    """Full names of all that the code imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(code):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def public_names() -> set[str]:
    """Attributes of the classes of the face, and of the frames that they give."""
    modules = [
        importlib.import_module(f"netlab.face.{module.name}")
        for module in pkgutil.iter_modules(netlab.face.__path__)
    ]
    classes = [one for module in modules for one in vars(module).values() if isinstance(one, type)]
    own = [one for one in classes if one.__module__.startswith("netlab.face.")]
    return {name for one in (*own, pd.DataFrame) for name in dir(one) if not name.startswith("_")}


PUBLIC = public_names()


def missing(code: ast.Module) -> list[str]:
    """Attributes that the code uses: of :mod:`netlab` or of other objects, and not there."""
    wrong = []
    for node in ast.walk(code):
        if not isinstance(node, ast.Attribute):
            continue
        of_package = isinstance(node.value, ast.Name) and node.value.id == "netlab"
        if node.attr not in (dir(netlab) if of_package else PUBLIC):
            wrong.append(ast.unparse(node))
    return wrong


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_name_of_the_package_exists(notebook):
    assert missing(code_of(notebook)) == []


def test_a_name_that_is_gone_is_found():
    code = ast.parse("netlab.Study\nnetlab.gone(netlab.report)\nx.tables.cells()\nx.tables.lost()")
    assert sorted(missing(code)) == ["netlab.gone", "netlab.report", "x.tables.lost"]


FRAMES = {"pandas", "numpy", "matplotlib.pyplot", "seaborn"}
"""Libraries that a notebook may use beside the face."""


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_uses_the_face_alone(notebook):
    names = imported(code_of(notebook))
    assert "netlab" in names and names <= {"netlab", *FRAMES}


def test_an_import_past_the_face_is_found():
    code = ast.parse("import netlab\nif 1:\n    from netlab.report import tables as t")
    assert imported(code) - {"netlab"} == {"netlab.report.tables"}
