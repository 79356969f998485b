"""A claim quotes a statement of a document; its check recomputes the figure and gives a verdict."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import Any

from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import SandboxedEnvironment

from netlab.errors import BadInput, check
from netlab.openlab import published

frame_of = cache(published.load)

# sandboxed, since a claim is data
_LANGUAGE = SandboxedEnvironment(undefined=StrictUndefined)
_LANGUAGE.globals.clear()


def evaluate(expression: str | float, names: Mapping[str, Any]) -> Any:
    try:
        value = _compiled(str(expression))(**names)
        if isinstance(value, StrictUndefined):
            str(value)  # raises the error of an unknown name
        return value
    except TemplateError as error:
        text = f"not a usable expression: {error}"
        raise BadInput(text, value=expression, code="E-PUBLISHED-001") from None


@cache
def _compiled(expression: str) -> Callable[..., Any]:
    return _LANGUAGE.compile_expression(expression, undefined_to_none=False)


def fill(template: str, names: Mapping[str, Any]) -> str:
    """Fill in a text whose fields are expressions, such as ``{100 * share:.0f} %``."""
    text = []
    for literal, expression, spec, _ in string.Formatter().parse(template):
        text.append(literal)
        if expression is not None:
            text.append(format(evaluate(expression, names), spec or ""))
    return "".join(text)


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
        return float(self._digits)

    @property
    def half_unit(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self._decimals

    @property
    def _decimals(self) -> int:
        return len(self._digits.partition(".")[2])

    @property
    def _digits(self) -> str:
        digits = [*_NUMBER.findall(self.text), ""][0]
        check(digits, "claimed", self.text, "contains no number", "E-PUBLISHED-005")
        return digits

    def against(
        self, recomputed: float, why: str, *, unit: str = "", tolerance: float = 0.0
    ) -> CheckResult:
        """Compare the printed number with a recomputed one."""
        off, within = abs(recomputed - self.number), max(self.half_unit, tolerance) * (1 + 1e-9)
        verdict = Verdict.ROUNDS if off <= within else Verdict.CONTRADICTED
        verdict = Verdict.HOLDS if off <= 1e-9 * abs(recomputed) else verdict
        text = f"{recomputed:.{self._decimals + 2}f}".rstrip("0").rstrip(".")
        return CheckResult(f"{text} {unit}".strip(), verdict, why)


@dataclass(frozen=True)
class Claim:
    """One quantitative statement and the rule that checks it.

    A rule is one of: ``value`` (compared with the printed number), ``holds`` (true or false) or
    ``check`` (a function of its own). A claim without a rule is not checkable. The texts
    ``shows`` and ``why`` may contain fields; see :func:`fill`.
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
        text, where = f"has more than one rule: {', '.join(rules)}", self.document
        if len(rules) > 1:
            raise BadInput(text, where=where, key=self.place, code="E-PUBLISHED-006")

    def checked(self) -> CheckResult:
        names = {**self.names, "printed": self.claimed}
        if _NUMBER.search(self.claimed.text):
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
    document, claims = content["document"], []
    for number, record in enumerate(content["claims"], start=1):
        rule = dict(record)
        try:
            place, statement, claimed = rule.pop("claim")
            printed = PrintedValue(str(claimed))
            claims.append(Claim(document, place, statement, printed, names, **rule))
        except (KeyError, TypeError, ValueError) as error:
            text = f"claim {number} is not usable: {error}"
            raise BadInput(text, where=document, key="claims", code="E-PUBLISHED-007") from None
    return tuple(claims)
