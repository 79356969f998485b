"""Parameters of a notebook, checked: papermill only warns of a name that a notebook lacks.

papermill writes ``name = value`` lines into a new cell below the one tagged ``parameters``. A
mistyped name would pass unnoticed, and the default would be measured instead of what was meant;
and since names become code, a name must be an identifier before papermill sees it.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import keyword
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from netlab.errors import BadInput
from netlab.notebooks.format import read_notebook

INJECTED = "# Parameters"
"""First line of the cell that papermill adds; IPython stores its source in ``In``."""


def check(namespace: Mapping[str, object], **kinds: type | tuple[type, ...]) -> None:
    """Refuse unknown or mistyped parameters; call it right after the parameters cell."""
    inputs: Iterable[str] = namespace.get("In", ())  # type: ignore[assignment]
    for source in inputs:
        if not source.startswith(INJECTED):
            continue
        try:
            injected = _assigned(source)
        except SyntaxError:
            continue  # a cell of the notebook's own, with a magic; papermill writes plain Python
        for name in injected:
            _known(name, kinds, "parameters")
    for name, kind in kinds.items():
        if name not in namespace:
            raise BadInput(
                "the parameter is missing", where="parameters", key=name, code="E-NOTEBOOKS-003"
            )
        wanted = kind if isinstance(kind, tuple) else (kind,)
        value = namespace[name]
        fits = isinstance(value, wanted) or (float in wanted and isinstance(value, int))
        if isinstance(value, bool) and bool not in wanted:
            fits = False
        if not fits:
            names = " or ".join("None" if k is type(None) else k.__name__ for k in wanted)
            raise BadInput(
                f"must be {names}",
                where="parameters",
                key=name,
                value=value,
                code="E-NOTEBOOKS-004",
            )


def _assigned(source: str) -> list[str]:
    """Names that top-level assignments of a cell bind, in order."""
    names: list[str] = []
    for statement in ast.parse(source).body:
        targets: tuple[ast.expr, ...] | list[ast.expr] = ()
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = (statement.target,)
        parts = (part for target in targets for part in ast.walk(target))
        names.extend(
            part.id
            for part in parts
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        )
    return names


def _known(name: str, known: Collection[str], where: str) -> None:
    """Refuse a name that a notebook does not have, with the nearest that it has."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(sorted(known)) or "none"
        message = f"the notebook has no such parameter; it has {listed}{hint}"
        raise BadInput(message, where=where, key=name, code="E-NOTEBOOKS-005")


def declared(notebook: Path) -> frozenset[str]:
    """Names that a notebook's cell tagged ``parameters`` assigns."""
    where = str(notebook)
    cells = read_notebook(notebook).cells
    sources = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    try:
        return frozenset(name for source in sources for name in _assigned(source))
    except SyntaxError:
        raise BadInput(
            "the cell tagged parameters is not plain Python", where=where, code="E-NOTEBOOKS-008"
        ) from None


def names_checked(notebook: Path, parameters: Mapping[str, object]) -> dict[str, object]:
    """Parameters that may be handed to papermill for this notebook."""
    known = declared(notebook)
    for name in parameters:
        if not isinstance(name, str):
            raise BadInput(
                "is not a parameter name",
                where=str(notebook),
                key=repr(name),
                code="E-NOTEBOOKS-009",
            )
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(builtins, name):
            raise BadInput(
                "is not a parameter name",
                where=str(notebook),
                key=repr(name),
                code="E-NOTEBOOKS-010",
            )
        _known(name, known, str(notebook))
    return dict(parameters)
