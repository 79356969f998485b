"""Validation errors of pydantic as netlab's errors: line, key, value and what is allowed."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Callable, Iterator
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from netlab.errors import CODE, BadInput

Place = tuple[str | int, ...]
_NOUNS: dict[type, str] = {
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
    type(None): "nothing",
}


def mistakes_of(
    failure: ValidationError,
    model: type[BaseModel],
    content: dict,
    where: str,
    line: Callable[[Place], int] | None = None,
) -> list[BadInput]:
    """List the mistakes in the order of the file."""
    problems: dict[tuple[Place, str], Any] = {}
    for problem in failure.errors(include_url=False):
        for one in map(_placed, _each(problem)):
            place = _place(one["loc"], content, missing=one["type"] == "missing")
            # branches of a union refuse the same value each, and one of them is enough
            said = one["msg"] if one is not problem else ""
            problems.setdefault((place, said), one)
    places = {place for place, said in problems if not said}
    found = []
    for (place, said), problem in problems.items():
        if not said and any(
            len(other) > len(place) and other[: len(place)] == place for other in places
        ):
            continue  # a mistake below it is the reason
        named = place or _named(problem["msg"].removeprefix("Value error, "), content)
        number = line(named) if line is not None else 0
        at = f"{where}:{number}" if line is not None else where
        found.append((number, _mistake(problem, model, at, place)))
    return [mistake for _, mistake in sorted(found, key=lambda pair: pair[0])]


def _each(problem: Any) -> list[Any]:
    """The errors that one of a model stands for: itself, or the ``mistakes`` that it has."""
    return [
        {
            "type": getattr(mistake, "type", "value_error"),
            "loc": problem["loc"],
            "msg": str(mistake),
            "input": problem["input"],
            "ctx": getattr(mistake, "context", None) or {},
        }
        for mistake in getattr(problem.get("ctx", {}).get("error"), "mistakes", ())
    ] or [problem]


def _named(message: str, content: object) -> Place:
    """The keys that a message of a whole model begins with, such as ``paths.cable: ...``.

    An item of a list is found by its name: ``groups: left -> right: ...``.
    """
    place: list[str | int] = []
    first, *others = message.split(": ")
    for word in (*first.split("."), *others):
        if isinstance(content, dict) and word in content:
            place.append(word)
            content = content[word]
        elif isinstance(content, list | tuple):
            names = [item.get("name") if isinstance(item, dict) else item for item in content]
            if word not in names:
                break
            place.append(names.index(word))
            content = content[names.index(word)]
        else:
            break
    return tuple(place)


def _placed(problem: Any) -> Any:
    """An error of a model with the place and the value that it names itself, below its own."""
    named = problem.get("ctx", {})
    if "place" not in named:
        return problem
    return {**problem, "loc": (*problem["loc"], *named["place"]), "input": named["value"]}


def _mistake(problem: Any, model: type[BaseModel], at: str, place: Place) -> BadInput:
    key = ".".join(str(part) for part in place)
    kind, value = problem["type"], problem.get("input")
    keys = _keys(model, problem["loc"][:-1])
    shape = next((noun for known, noun in _NOUNS.items() if isinstance(value, known)), None)
    if kind == "missing":
        field = keys.get(problem["loc"][-1])  # None for an item of a pair
        message = "required key is missing"
        if field and field.description and field.examples:
            example = json.dumps(field.examples[0], ensure_ascii=False)
            message += f". {field.description} Example: {example}"
        return BadInput(message, where=at, key=key, code="E-YAML-021")
    scalar = None if shape else value
    if kind == "extra_forbidden":
        message = f"unknown key; {_nearest(str(place[-1]), [*map(str, keys)])}"
        return BadInput(message, where=at, key=key, value=scalar, code="E-YAML-020")
    message = problem["msg"].removeprefix("Value error, ")
    if shape and kind != "value_error" and not CODE.fullmatch(kind):
        message += f" (found {shape})"
    if CODE.fullmatch(kind):
        return BadInput(message, where=at, key=key, value=scalar, code=kind)
    return BadInput(message, where=at, key=key, value=scalar, code="E-YAML-022")


def _place(loc: Place, content: object, *, missing: bool) -> Place:
    """The keys of a location without the names of union branches, which no file has."""
    place: list[str | int] = []
    for index, part in enumerate(loc):
        try:
            content = content[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            if not (missing and index == len(loc) - 1) and part != "[key]":
                if isinstance(content, dict | list | tuple):
                    continue
                break
        place.append(part)
    return tuple(place)


def _nearest(key: str, allowed: list[str]) -> str:
    """Say which known key is meant, or list them."""
    close = difflib.get_close_matches(key, allowed, n=1)
    return f"did you mean {close[0]!r}?" if close else f"allowed: {', '.join(allowed) or 'none'}"


def _keys(model: type[BaseModel], loc: Place) -> dict[str | int, FieldInfo]:
    """Keys that the model has at a location, with their fields."""
    kinds: list[Any] = [model]
    for part in loc:
        below = list(_below(kinds, part))
        kinds = below or kinds  # the name of a union's branch leads nowhere
    models = [kind for kind in _members(kinds) if _is_model(kind)]
    return {field.alias or name: field for m in models for name, field in m.model_fields.items()}


def _below(kinds: list[Any], part: str | int) -> Iterator[Any]:
    """Types of the value that a key or an index leads to."""
    for kind in _members(kinds):
        if _is_model(kind):
            fields = kind.model_fields.items()
            yield from (f.annotation for name, f in fields if part in (name, f.alias))
        elif get_origin(kind) in (dict, list, tuple):
            yield from (arg for arg in get_args(kind)[-2:] if arg is not Ellipsis)


def _members(kinds: list[Any]) -> Iterator[Any]:
    """Types with the members of unions and what is annotated written out."""
    for kind in kinds:
        if get_origin(kind) in (Union, types.UnionType):
            yield from _members(list(get_args(kind)))
        elif hasattr(kind, "__metadata__"):
            yield from _members([kind.__origin__])
        else:
            yield kind


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
