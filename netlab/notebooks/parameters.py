"""Parameters of a notebook, checked: papermill only warns of a name that a notebook lacks.

papermill writes ``name = value`` lines into a new cell below the one tagged ``parameters``. A
mistyped name would pass unnoticed, and the default would be measured instead of what was meant;
and since names become code, a name must be an identifier before papermill sees it. Every notebook
imports this file, so it does without papermill, which takes 0.3 s.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Iterable, MutableMapping
from contextlib import suppress
from pathlib import Path

from netlab.errors import BadInput
from netlab.files.model_mistakes import Parameter

INJECTED = "# Parameters"
"""First line of the cell that papermill adds; IPython stores its source in ``In``."""


SWITCHES = {"true": True, "false": False}
"""papermill's `-p` passes these as texts, as it does not for `True` and `False`."""


def check(namespace: MutableMapping[str, object], **kinds: type | tuple[type, ...]) -> None:
    """Refuse unknown or mistyped parameters; call it right after the parameters cell.

    A list is replaced by one that names the parameter in mistakes of a study made of it.
    """
    inputs: Iterable[str] = namespace.get("In", ())  # type: ignore[assignment]
    for source in inputs:
        # a cell of the notebook's own has a magic at most; papermill writes plain Python
        with suppress(SyntaxError):
            for name in assigned(source) if source.startswith(INJECTED) else ():
                check_known(name, kinds, "parameters")
    for name, kind in kinds.items():
        at = {"where": "parameters", "key": name}
        if name not in namespace:
            raise BadInput("the parameter is missing", **at, code="E-NOTEBOOKS-003")
        wanted = kind if isinstance(kind, tuple) else (kind,)
        value = namespace[name]
        if isinstance(value, str) and bool in wanted and value in SWITCHES:
            value = namespace[name] = SWITCHES[value]
        allowed = (*wanted, int) if float in wanted else wanted
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in wanted):
            names = " or ".join("None" if k is type(None) else k.__name__ for k in wanted)
            text = f"must be {names}"
            if isinstance(value, str) and list in wanted:  # -p knows numbers, True, False, None
                text += f"; papermill takes other kinds by -y, such as -y '{name}: [1, 4]'"
            raise BadInput(text, **at, value=value, code="E-NOTEBOOKS-004")
        if isinstance(value, list):
            namespace[name] = Parameter(name, value)


def assigned(source: str) -> list[str]:
    """Names that top-level assignments of a cell bind, in order."""
    assignments = [s for s in ast.parse(source).body if isinstance(s, ast.Assign | ast.AnnAssign)]
    names: list[str] = []
    for each in assignments:
        for target in each.targets if isinstance(each, ast.Assign) else [each.target]:
            parts = [part for part in ast.walk(target) if isinstance(part, ast.Name)]
            names += [part.id for part in parts if isinstance(part.ctx, ast.Store)]
    return names


def declared(notebook: Path) -> frozenset[str]:
    """Names that a notebook's cell tagged ``parameters`` assigns."""
    from netlab.notebooks.format import read_notebook  # which notebooks themselves do not need

    cells = read_notebook(notebook).cells
    sources = [cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ())]
    try:
        return frozenset(name for source in sources for name in assigned(source))
    except SyntaxError:
        text = "the cell tagged parameters is not plain Python"
        raise BadInput(text, where=str(notebook), code="E-NOTEBOOKS-008") from None


def check_known(name: str, known: Collection[str], where: str) -> None:
    """Refuse a name that a notebook does not have, with the nearest that it has."""
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(sorted(known)) or "none"
        message = f"the notebook has no such parameter; it has {listed}{hint}"
        raise BadInput(message, where=where, key=name, code="E-NOTEBOOKS-005")
