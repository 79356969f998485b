"""Completion of the words that an argument takes: ``results.plot(y="`` and Tab in JupyterLab.

IPython completes the names of attributes, and does not know the values of a ``Literal``.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, get_args, get_origin, get_overloads, get_type_hints

_CALL = re.compile(
    r"(?P<call>[A-Za-z_][\w.]*)\((?P<before>[^()]*?)"
    r"(?:(?P<keyword>\w+)\s*=\s*)?[\"'](?P<typed>[^\"'\n]*)\Z"
)
"""A call that ends within the text of an argument."""

_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def words(code: str, namespace: Mapping[str, object]) -> list[str]:
    """Words that may stand where the code ends; none if only executing it would tell."""
    call = _CALL.search(code)
    if not call:
        return []
    function, skipped = _function(call["call"].split("."), namespace)
    if function is None:
        return []
    known: dict[str, None] = {}
    for one in (function, *get_overloads(inspect.unwrap(function))):
        parameters = list(inspect.signature(one).parameters.values())[skipped:]
        if call["keyword"]:
            wanted = [p for p in parameters if p.name == call["keyword"]]
        else:
            place = _TEXT.sub("", call["before"]).count(",")
            wanted = [p for p in parameters if p.kind in _BY_PLACE][place : place + 1]
        for parameter in wanted:
            known |= dict.fromkeys(_literals(_evaluated(parameter.annotation, one)))
    return [word for word in known if word.startswith(call["typed"])]


def _function(
    names: list[str], namespace: Mapping[str, object]
) -> tuple[Callable[..., Any] | None, int]:
    """A function of netlab by its dotted name, and how many of its parameters are bound.

    Properties are followed by their types: their values may take seconds.
    """
    first, *rest = names
    found: Any = namespace.get(first)
    bound = bool(rest) and not isinstance(found, ModuleType)
    if bound:
        found = type(found)
    for name in rest:
        if isinstance(found, property | cached_property):
            made = found.fget if isinstance(found, property) else found.func
            found = made and _evaluated(inspect.signature(made).return_annotation, made)
        found = getattr(found, name, None)
    if not inspect.isfunction(found) or found.__module__.partition(".")[0] != "netlab":
        return None, 0
    return found, int(bound)


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """An annotation of netlab's source; None where it is known to type checkers alone."""
    module = sys.modules[inspect.unwrap(function).__module__]
    names, stated = dict(vars(module)), SimpleNamespace(__annotations__={"its": annotation})
    try:
        return get_type_hints(stated, names)["its"]
    except NameError as unknown:
        # a module beside it that is imported when first used
        with suppress(ImportError, AttributeError, NameError):
            names[str(unknown.name)] = import_module(f"{module.__package__}.{unknown.name}")
            return get_type_hints(stated, names)["its"]
    return None


def _literals(annotation: Any) -> list[str]:
    parts = get_args(annotation)
    if get_origin(annotation) is Literal:
        return [part for part in parts if isinstance(part, str)]
    return [word for part in parts for word in _literals(part)]


def offer() -> None:
    """Let the IPython that runs in this process, if one does, complete such words."""
    interactive = sys.modules.get("IPython")
    shell: Any = interactive.get_ipython() if interactive else None
    known = getattr(getattr(shell, "Completer", None), "custom_matchers", None)
    if known is None or any(hasattr(one, "of_netlab") for one in known):
        return
    # loaded where IPython runs alone
    from IPython.core.completer import CompletionContext, SimpleCompletion, context_matcher

    @context_matcher()
    def literal_matcher(context: CompletionContext) -> dict[str, Any]:
        before = [*context.full_text.split("\n")[: context.cursor_line], context.text_until_cursor]
        found = words("\n".join(before), shell.user_ns)
        completions = [SimpleCompletion(text=word, type="value") for word in found]
        return {"completions": completions, "suppress": bool(found)}

    literal_matcher.of_netlab = True
    known.append(literal_matcher)
