"""Validation errors of pydantic as netlab's errors: line, key, value and what is allowed."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from netlab.errors import CODE, BadInput

Place = tuple[str | int, ...]
_NOUNS: dict[Any, str] = {(list, tuple): "a list", dict: "a mapping", type(None): "nothing"}


_OF_A_KEY = "[key]"
"""Last part of a location where the key of a mapping is wrong, not its value."""


def mistakes_of(
    failure: ValidationError,
    model: type[BaseModel],
    content: dict,
    where: str,
    line: Callable[[Place], int] | None = None,
) -> list[BadInput]:
    problems: dict[tuple[Place, str], Any] = {}
    for problem in failure.errors(include_url=False):
        for one in _each(problem):
            place = _place(one["loc"], content, missing=one["type"] == "missing")
            # branches of a union refuse the same value each, and one of them is enough
            reason = one["msg"] if one is not problem else ""
            problems.setdefault((place, reason), one)
    places = {place for place, reason in problems if not reason}
    mistakes = []
    for (place, reason), error in problems.items():
        if not reason and any(
            len(other) > len(place) and other[: len(place)] == place for other in places
        ):
            continue  # a mistake below it is the reason
        named = _named(error["msg"].removeprefix("Value error, "), content, place)
        number = line(named) if line is not None else 0
        at = f"{where}:{number}" if line is not None else where
        key = ".".join(str(part) for part in place if part != _OF_A_KEY)
        if parameter := _parameter(named, content):
            at, key = "parameters", parameter
            if named != place:  # the message begins with the other keys
                error = {**error, "msg": error["msg"].rpartition(": ")[-1]}
        mistakes.append((number, _mistake(error, model, at, place, key)))
    return [mistake for _, mistake in sorted(mistakes, key=lambda pair: pair[0])]


def _each(problem: Any) -> Iterator[Any]:
    """The errors that one of a model stands for: itself, or the ``mistakes`` that it has.

    Each is at the place and with the value that it names itself, below those of the model.
    """
    several = getattr(problem.get("ctx", {}).get("error"), "mistakes", ())
    for one in several or (None,):
        if one is not None:
            kind, named = getattr(one, "type", "value_error"), getattr(one, "context", None)
            problem = {**problem, "type": kind, "msg": str(one), "ctx": named or {}}
        named = problem.get("ctx", {})
        if "place" in named:
            place = (*problem["loc"], *named["place"])
            yield {**problem, "loc": place, "input": named["value"]}
        else:
            yield problem


def _named(message: str, content: Any, above: Place) -> Place:
    """A place, with the keys that a message of its model begins with: ``paths.cable: ...``.

    An item of a list is found by its name: ``groups: left -> right: ...``.
    """
    place = [*above]
    with suppress(LookupError, TypeError):  # a missing key
        for part in above:
            content = content[part]
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


class Parameter(list):
    """A notebook's parameter; a mistake in what is made of it names the parameter."""

    def __init__(self, name: str, values: Iterable[object]):
        super().__init__(values)
        self.name = name


def _parameter(place: Place, content: Any) -> str:
    """The parameter that holds the value at a place; empty if none does."""
    with suppress(LookupError, TypeError):
        for part in place:
            content = content[part]
            if isinstance(content, Parameter):
                return content.name
    return ""


def _mistake(problem: Any, model: type[BaseModel], at: str, place: Place, key: str) -> BadInput:
    kind, value = problem["type"], problem.get("input")
    keys = _keys(model, problem["loc"][:-1])
    shape = next((noun for kinds, noun in _NOUNS.items() if isinstance(value, kinds)), None)
    if kind == "missing":
        last = problem["loc"][-1]
        field = keys.get(last)
        message = "required key is missing"
        if isinstance(last, int):  # of a pair
            message = f"item {last + 1} of the list is missing"
        if field and field.description and field.examples:
            example = json.dumps(field.examples[0], ensure_ascii=False)
            message += f". {field.description} Example: {example}"
        return BadInput(message, where=at, key=key, code="E-YAML-021")
    scalar = None if shape else value
    if kind == "extra_forbidden":
        allowed = [*map(str, keys)]
        close = difflib.get_close_matches(str(place[-1]), allowed, n=1)
        listed = f"allowed: {', '.join(allowed) or 'none'}"
        # a letter more or less: path for paths, which is a key of groups as well
        misspelt = difflib.get_close_matches(str(place[-1]), allowed, n=1, cutoff=0.85)
        if not misspelt and (owners := _owners(keys, place[-1])):
            listed = f"it is a key of {' or '.join(map(repr, owners))} here"
        elif close:
            listed = f"did you mean {close[0]!r}?"
        message = f"unknown key; {listed}"
        return BadInput(message, where=at, key=key, value=scalar, code="E-YAML-020")
    message = _in_words(kind, problem.get("ctx") or {})
    message = message or problem["msg"].removeprefix("Value error, ")
    code = kind if CODE.fullmatch(kind) else "E-YAML-022"
    field = keys.get(problem["loc"][-1]) if kind in _SHAPES else None
    if field and field.examples:
        message += f", such as {json.dumps(field.examples[0], ensure_ascii=False)}"
    if shape and kind not in ("value_error", "too_short", "too_long", code):
        message += f" (found {shape})"
    return BadInput(message, where=at, key=key, value=scalar, code=code)


_SHAPES = {
    **dict.fromkeys(("tuple_type", "list_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type"), "a mapping of keys"),
    **dict.fromkeys(("model_attributes_type", "dataclass_type"), "a mapping of keys"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "finite_number": "a finite number",
    "string_type": "text",
}
_BOUNDS = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "less_than": "less than {lt}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "string_too_short": "text of {min_length} or more characters",
    "string_too_long": "text of {max_length} or fewer characters",
}


_PATTERNS: dict[str, str] = {}


def pattern(expression: str, words: str) -> str:
    """A regular expression of a field; a message has the words in its place."""
    _PATTERNS[expression] = words
    return expression


def _in_words(kind: str, context: dict[str, Any]) -> str:
    """The values that a field takes, in words; empty for an error with words of its own."""
    if kind == "string_pattern_mismatch" and context.get("pattern") in _PATTERNS:
        return f"expected {_PATTERNS[context['pattern']]}"
    if kind in ("too_short", "too_long"):
        most = "or more" if kind == "too_short" else "or fewer"
        number = context.get("min_length", context.get("max_length"))
        return f"expected {number} {most} items"
    text = _SHAPES.get(kind) or _BOUNDS.get(kind, "")
    return f"expected {text.format(**context)}" if text else ""


def _place(loc: Place, content: object, *, missing: bool) -> Place:
    """The keys of a location without the names of union branches, which no file has."""
    place: list[str | int] = []
    for index, part in enumerate(loc):
        try:
            content = content[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            if not (missing and index == len(loc) - 1) and part != _OF_A_KEY:
                if isinstance(content, dict | list | tuple):
                    continue
                break
        place.append(part)
    return tuple(place)


def _keys(model: type[BaseModel], loc: Place) -> dict[str | int, FieldInfo]:
    """Keys that the model has at a location, with their fields."""
    kinds: list[Any] = [model]
    for part in loc:
        below = [kind for above in _members(kinds) for kind in _below(above, part)]
        kinds = below or kinds  # the name of a union's branch leads nowhere
    fields = [pair for kind in _members(kinds) for pair in _fields(kind).items()]
    return {field.alias or name: field for name, field in fields}


def _owners(keys: Mapping[str | int, FieldInfo], key: object) -> list[str]:
    """Keys of the mappings below that have this key, as dotted paths; of the nearest level."""
    level: list[tuple[str, Any]] = [(str(name), field.annotation) for name, field in keys.items()]
    for _ in range(_OWNER_DEPTH):
        mappings = [(path, kind) for path, type_ in level for kind in _mappings(type_)]
        fields = [(path, _fields(kind)) for path, kind in mappings]
        owners = [path for path, below in fields if key in {f.alias or n for n, f in below.items()}]
        if owners:
            return list(dict.fromkeys(owners))
        level = [
            (f"{path}.{field.alias or name}", field.annotation)
            for path, below in fields
            for name, field in below.items()
        ]
    return []


_OWNER_DEPTH = 3
"""Levels in which a misplaced key is searched: paths, emulator, and what stands in it."""


def _mappings(kind: Any) -> Iterator[Any]:
    """Models that a value of this type holds, also as items of a list or values of a mapping."""
    for member in _members([kind]):
        if get_origin(member) in (dict, list, tuple):
            for item in get_args(member)[-2:]:
                yield from _mappings(item)
        else:
            yield member


def _below(kind: Any, part: str | int) -> list[Any]:
    """Types of the value that a key or an index leads to."""
    if get_origin(kind) in (dict, list, tuple):
        return [arg for arg in get_args(kind)[-2:] if arg is not Ellipsis]
    return [f.annotation for name, f in _fields(kind).items() if part in (name, f.alias)]


def _members(kinds: list[Any]) -> Iterator[Any]:
    """Types with the members of unions and what is annotated written out."""
    for kind in kinds:
        if get_origin(kind) in (Union, types.UnionType):
            yield from _members(list(get_args(kind)))
        elif hasattr(kind, "__metadata__"):
            yield from _members([kind.__origin__])
        else:
            yield kind


def _fields(kind: Any) -> dict[str, FieldInfo]:
    is_model = isinstance(kind, type) and issubclass(kind, BaseModel)
    return kind.model_fields if is_model else {}
