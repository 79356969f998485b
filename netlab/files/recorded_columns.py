"""JSON in the text columns of a record, checked as it is read.

A stored file may be damaged, or be made by anyone: a reader finds the kinds of values that it
expects, or the error names the column and the place in it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic_core import SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from netlab.errors import BadInput
from netlab.files.bounded_json import parse_json

_TEXT = cs.str_schema(strict=True)
_ANY = cs.any_schema()
_NUMBER = cs.float_schema(strict=True, allow_inf_nan=False)
_LEVEL = cs.nullable_schema(
    cs.union_schema([_TEXT, cs.bool_schema(strict=True), cs.int_schema(strict=True), _NUMBER])
)


def _mapping(values: cs.CoreSchema) -> cs.CoreSchema:
    return cs.dict_schema(_TEXT, values, strict=True)


def _object(**fields: cs.CoreSchema) -> cs.CoreSchema:
    """An object that may have these keys, and others of any content."""
    known = {name: cs.typed_dict_field(schema, required=False) for name, schema in fields.items()}
    return cs.typed_dict_schema(known, strict=True, extra_behavior="allow", extras_schema=_ANY)


_BY_HOST = cs.nullable_schema(_mapping(_mapping(_ANY)))
_KNOB = {name: cs.typed_dict_field(_TEXT) for name in ("host", "knob", "reason")}

_KINDS: dict[str, cs.CoreSchema] = {
    "factors": _mapping(_LEVEL),
    "policy": _mapping(_mapping(_ANY)),
    "card_counters": _mapping(_mapping(_NUMBER)),
    "unsupported": cs.list_schema(cs.typed_dict_schema(_KNOB, strict=True), strict=True),
    "knobs": _mapping(_mapping(_LEVEL)),
    "provenance": _object(hosts=_BY_HOST, link=_BY_HOST),
    "flows": cs.list_schema(_mapping(_ANY), strict=True),
}
_LISTS = frozenset({"unsupported", "flows"})


@cache
def _validator(column: str) -> SchemaValidator:
    return SchemaValidator(_KINDS[column])


def column_json(text: str, column: str, *, code: str | None = None) -> Any:
    """Content of a value of a column of runs; an empty list or object where it has none."""
    where = f"column {column} of the results"
    content = parse_json(text or "null", where, kind=object, code=code)
    if content is None:
        return [] if column in _LISTS else {}
    try:
        _validator(column).validate_python(content)
    except ValidationError as fault:
        first = fault.errors(include_url=False, include_context=False)[0]
        key = ".".join(map(str, first["loc"]))
        message, value = first["msg"], first["input"]
        raise BadInput(message, where=where, key=key, value=value, code="E-FILES-101") from None
    return content
