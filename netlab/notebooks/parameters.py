"""Parameters of a notebook, checked: papermill only warns of a name that a notebook lacks.

papermill writes ``name = value`` lines into a new cell below the one tagged ``parameters``. A
mistyped name would pass unnoticed, and the default would be measured instead of what was meant;
and since names become code, a name must be an identifier before papermill sees it.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable, Mapping

from netlab.errors import BadInput

INJECTED = "# Parameters"
"""First line of the cell that papermill adds; IPython stores its source in ``In``."""


def check(namespace: Mapping[str, object], **kinds: type | tuple[type, ...]) -> None:
    """Refuse unknown or mistyped parameters; call it right after the parameters cell."""
    inputs: Iterable[str] = namespace.get("In", ())  # type: ignore[assignment]
    for source in inputs:
        if not source.startswith(INJECTED):
            continue
        try:
            injected = assigned(source)
        except SyntaxError:
            continue  # a cell of the notebook's own, with a magic; papermill writes plain Python
        for name in injected:
            check_known(name, kinds, "parameters")
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


def assigned(source: str) -> list[str]:
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


def check_known(name: str, known: Collection[str], where: str) -> None:
    """Refuse a name that a notebook does not have, with the nearest that it has."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(sorted(known)) or "none"
        message = f"the notebook has no such parameter; it has {listed}{hint}"
        raise BadInput(message, where=where, key=name, code="E-NOTEBOOKS-005")
