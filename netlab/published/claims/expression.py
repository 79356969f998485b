"""Evaluate the expressions of the claims: arithmetic over named values, and text with fields.

A claim is data, so its expression is parsed and walked, never executed: numbers, text, lists,
arithmetic, comparisons, subscripts, and calls of the functions that the caller names.
"""

from __future__ import annotations

import ast
import operator
import string
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from netlab.errors import BadInput

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def evaluate(expression: str | int | float, names: Mapping[str, Any]) -> Any:
    """Evaluate one expression."""
    return _value(_parsed(str(expression)), names)


def fill(template: str, names: Mapping[str, Any]) -> str:
    """Fill in a text whose fields are expressions, such as ``{100 * share:.0f} %``."""
    text = []
    for literal, field, spec, _ in string.Formatter().parse(template):
        text.append(literal)
        if field is not None:
            text.append(format(evaluate(field, names), spec or ""))
    return "".join(text)


@cache
def _parsed(expression: str) -> ast.expr:
    try:
        return ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise BadInput(
            f"not an expression: {error.msg}", value=expression, code="E-PUBLISHED-001"
        ) from None


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise BadInput(
                f"unknown name; known are {', '.join(sorted(names))}",
                value=name,
                code="E-PUBLISHED-002",
            )
        case ast.List(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=op, values=parts):
            every = (_value(part, names) for part in parts)
            return all(every) if isinstance(op, ast.And) else any(every)
        case ast.Compare(left=left, ops=ops, comparators=rest):
            return _compared(left, ops, rest, names)
        case ast.Subscript(value=inner, slice=key):
            return _value(inner, names)[_value(key, names)]
        case ast.Call(func=ast.Name() as function, args=args, keywords=keywords):
            given = {word.arg: _value(word.value, names) for word in keywords if word.arg}
            return _value(function, names)(*(_value(arg, names) for arg in args), **given)
    raise BadInput("not allowed in an expression", value=ast.unparse(node), code="E-PUBLISHED-003")


def _compared(
    left: ast.expr, ops: list[ast.cmpop], rest: list[ast.expr], names: Mapping[str, Any]
) -> Any:
    values = [_value(part, names) for part in (left, *rest)]
    results = []
    for op, before, after in zip(ops, values, values[1:], strict=False):
        if type(op) not in _COMPARISONS:
            raise BadInput(
                "comparison not allowed in an expression",
                value=type(op).__name__,
                code="E-PUBLISHED-004",
            )
        results.append(_COMPARISONS[type(op)](before, after))
    return results[0] if len(results) == 1 else all(results)
