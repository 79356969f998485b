"""A claim and the check of it.

A claim quotes one quantitative statement of a source document. The check recomputes the figure
from the published data and gives a verdict. Neither verdicts nor recomputed values are stored.
"""

from __future__ import annotations

import ast
import operator
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from netlab.errors import BadInput

# Evaluate the expressions of the claims: arithmetic over named values, and text with fields.
#
# A claim is data, so its expression is parsed and walked, never executed: numbers, text, lists,
# arithmetic, comparisons, subscripts, and calls of the functions that the caller names.

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
    for literal, expression, spec, _ in string.Formatter().parse(template):
        text.append(literal)
        if expression is not None:
            text.append(format(evaluate(expression, names), spec or ""))
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


_NUMBER = re.compile(r"\d+(?:\.\d+)?")
NOTHING_RECOMPUTED = "–"


class Verdict(StrEnum):
    """Outcome of comparing a claim with the recomputed value."""

    HOLDS = "holds"
    ROUNDS = "rounds"
    CONTRADICTED = "contradicted"
    NOT_CHECKABLE = "not checkable"


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: the recomputed value as text, the verdict, one line of reason."""

    recomputed: str
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class PrintedValue:
    """A claimed value as the document prints it, such as ``8512 Mb/s`` or ``about 73 %``."""

    text: str

    @property
    def number(self) -> float:
        """The first number in the text."""
        return float(self._digits)

    @property
    def has_number(self) -> bool:
        """True if the text contains a number."""
        return _NUMBER.search(self.text) is not None

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self._decimals

    @property
    def _decimals(self) -> int:
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        found = _NUMBER.search(self.text)
        if found is None:
            raise BadInput(
                "contains no number", key="claimed", value=self.text, code="E-PUBLISHED-005"
            )
        return found[0]

    def against(
        self, recomputed: float, why: str, *, unit: str = "", tolerance: float = 0.0
    ) -> CheckResult:
        """Compare the printed number with a recomputed one."""
        off = abs(recomputed - self.number)
        if off <= 1e-9 * abs(recomputed):
            verdict = Verdict.HOLDS
        elif off <= max(self.half_unit, tolerance) * (1 + 1e-9):
            verdict = Verdict.ROUNDS
        else:
            verdict = Verdict.CONTRADICTED
        text = f"{recomputed:.{self._decimals + 2}f}".rstrip("0").rstrip(".")
        return CheckResult(f"{text} {unit}".strip(), verdict, why)


@dataclass(frozen=True)
class Claim:
    """One quantitative statement and the rule that checks it.

    A rule is one of: ``value`` (compared with the printed number), ``holds`` (true or false) or
    ``check`` (a function of its own). A claim without a rule is not checkable. The texts
    ``shows`` and ``why`` may contain fields; see :func:`~.expression.fill`.
    """

    document: str
    place: str
    statement: str
    claimed: PrintedValue
    names: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    value: str | float | None = None
    unit: str = ""
    tolerance: float = 0.0
    holds: str = ""
    check: str = ""
    shows: str = NOTHING_RECOMPUTED
    why: str = ""
    let: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        rules = [name for name in ("value", "holds", "check") if getattr(self, name)]
        if len(rules) > 1:
            raise BadInput(
                f"has more than one rule: {', '.join(rules)}",
                where=self.document,
                key=self.place,
                code="E-PUBLISHED-006",
            )

    def checked(self) -> CheckResult:
        """Recompute the value and compare it now."""
        names = {**self.names, "printed": self.claimed}
        if self.claimed.has_number:
            names["claimed"] = self.claimed.number
        for name, expression in self.let.items():
            names[name] = evaluate(expression, names)
        if self.check:
            return evaluate(self.check, names)
        why = fill(self.why, names)
        if self.value is not None:
            number = evaluate(self.value, names)
            return self.claimed.against(number, why, unit=self.unit, tolerance=self.tolerance)
        shown = fill(self.shows, names)
        if not self.holds:
            return CheckResult(shown, Verdict.NOT_CHECKABLE, why)
        held = bool(evaluate(self.holds, names))
        return CheckResult(shown, Verdict.HOLDS if held else Verdict.CONTRADICTED, why)


def claims_of(content: Mapping[str, Any], names: Mapping[str, Any]) -> tuple[Claim, ...]:
    """Build the claims of one document from its parsed file."""
    document = content["document"]
    claims = []
    for number, record in enumerate(content["claims"], start=1):
        rule = dict(record)
        try:
            place, statement, claimed = rule.pop("claim")
            claims.append(
                Claim(document, place, statement, PrintedValue(str(claimed)), names, **rule)
            )
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"claim {number} is not usable: {error}",
                where=document,
                key="claims",
                code="E-PUBLISHED-007",
            ) from None
    return tuple(claims)
