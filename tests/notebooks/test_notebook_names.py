"""Notebooks use names that the package has: found here in seconds, not where they are executed."""

from __future__ import annotations

import ast
import importlib
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def code_of(notebook: Path) -> ast.Module:
    """The code of all cells, without lines of magic."""
    cells = json.loads(notebook.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    lines = "\n".join(sources).splitlines()
    return ast.parse("\n".join(line for line in lines if not line.startswith(("%", "!"))))


def missing(code: ast.Module) -> list[str]:
    """Names that are imported from netlab's modules, or used as their attributes, and not there."""
    wrong, modules = [], {}
    for node in ast.walk(code):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("netlab"):
            continue
        module = importlib.import_module(str(node.module))
        for name in node.names:
            try:
                found = getattr(module, name.name, None) or importlib.import_module(
                    f"{node.module}.{name.name}"
                )
            except ImportError:
                wrong.append(f"{node.module}.{name.name}")
                continue
            if type(found) is type(ast):
                modules[name.asname or name.name] = found
    for node in ast.walk(code):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        used = modules.get(node.value.id)
        if used is not None and not hasattr(used, node.attr):
            wrong.append(f"{used.__name__}.{node.attr}")
    return wrong


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_name_of_the_package_exists(notebook):
    assert missing(code_of(notebook)) == []


def test_a_name_that_is_gone_is_found():
    code = ast.parse("from netlab.report import tables as t, nothing\nt.summary\nt.gone")
    assert missing(code) == ["netlab.report.nothing", "netlab.report.tables.gone"]
