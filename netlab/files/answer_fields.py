"""Schemas of the fields of answers: ranges of numbers, escaped text, and types.

A TypedDict is both what code reads and what an answer is checked against.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from pydantic_core import core_schema as cs

from netlab.errors import printable

MAX_TEXT = 4096
"""Characters of a text, apart from the output of a tool."""

Schema = cs.CoreSchema


def integer(most: int, least: int = 0) -> Schema:
    return cs.int_schema(strict=True, ge=least, le=most)


# Sums of a run's counts, and of all its streams, fit the 64 bits of a column.
COUNT = integer(1 << 60)
OF_STREAM = integer(1 << 49)
COUNTER = integer((1 << 63) - 1)
"""A count since boot: it may be anything, its growth is checked."""
TIME = integer(1 << 62)
SPAN = integer(1 << 62, -(1 << 62))
WORD32 = integer((1 << 32) - 1)
SMALL = integer((1 << 31) - 1, -(1 << 31))
RUN = integer((1 << 64) - 1)
FLAG = cs.bool_schema(strict=True)


def _escaped(text: str) -> str:
    return text if text.isprintable() else printable(text)


TEXT = cs.no_info_after_validator_function(
    _escaped, cs.str_schema(strict=True, max_length=MAX_TEXT)
)


def object_schema(
    needed: Mapping[str, Schema],
    more: Mapping[str, Schema] | None = None,
    *,
    others: Schema | None = None,
) -> Schema:
    """An object that has all `needed` keys, and may have `more`, and `others` of any name."""
    fields = {key: cs.typed_dict_field(schema) for key, schema in needed.items()}
    for key, schema in (more or {}).items():
        fields[key] = cs.typed_dict_field(schema, required=False)
    if others is None:
        return cs.typed_dict_schema(fields, strict=True)
    return cs.typed_dict_schema(fields, strict=True, extra_behavior="allow", extras_schema=others)


@dataclass(frozen=True, eq=False)  # a schema is a dictionary, and has no hash
class Fits:
    """In `Annotated`: the schema of a type's values."""

    schema: Schema


def schema_of(kind: Any) -> Schema:
    """The schema of a type: of `Annotated` what it fits, of a TypedDict one of its fields.

    All fields are needed but those of type `NotRequired`. A TypedDict with ``total=False`` so says
    to its readers what they may lack, and what an answer must have none the less.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return arguments[1].schema
    if is_typeddict(kind):
        return object_schema(*fields_of(kind))
    if origin is list:
        return cs.list_schema(schema_of(arguments[0]), strict=True)
    if NoneType in arguments:
        (known,) = (each for each in arguments if each is not NoneType)
        return cs.nullable_schema(schema_of(known))
    if kind is bool:
        return cs.bool_schema(strict=True)
    raise TypeError(f"no schema of {kind}")


def fields_of(kind: Any) -> tuple[dict[str, Schema], dict[str, Schema]]:
    """The schemas of the fields that an answer of this type must have, and of those it may have."""
    needed: dict[str, Schema] = {}
    more: dict[str, Schema] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        if get_origin(hint) is NotRequired:
            more[name] = schema_of(get_args(hint)[0])
        else:
            needed[name] = schema_of(hint)
    return needed, more
