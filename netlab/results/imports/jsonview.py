"""Checked access to JSON: each access checks the type, each error has a line and a key."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from netlab.errors import BadInput
from netlab.results.imports.records import MAX_COUNT, damaged

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_NO_BLANK = re.compile(r"\S|\Z")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _after_blanks(text: str, at: int) -> int:
    found = _NO_BLANK.search(text, at)
    return len(text) if found is None else found.start()


def documents(text: str) -> list[View]:
    """All JSON objects of a text, one after the other."""
    decoder = json.JSONDecoder(parse_constant=_no_constant)
    found: list[View] = []
    at, line = 0, 1
    while True:
        begin = _after_blanks(text, at)
        line += text.count("\n", at, begin)
        at = begin
        if at == len(text) and found:
            return found
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise damaged(error.lineno, f"not JSON: {error.msg}", code="E-IMPORT-055") from None
        except (ValueError, RecursionError) as error:
            raise damaged(line, f"cannot parse the JSON: {error}", code="E-IMPORT-056") from None
        if not isinstance(value, dict):
            raise damaged(line, "expected a JSON object", code="E-IMPORT-057")
        found.append(View(value, (), text[at:end], line))
        line += text.count("\n", at, end)
        at = end


@dataclass(frozen=True)
class View:
    """A part of a JSON document, with its place in the text."""

    value: object
    path: tuple[str | int, ...]
    text: str
    first_line: int

    @property
    def line(self) -> int:
        """Line of this part in the file, or of the nearest enclosing part that exists."""
        return self.first_line + self.text.count("\n", 0, _offset(self.text, self.path))

    def bad(self, reason: str, *, code: str) -> BadInput:
        """Return an error about this part."""
        key = ".".join(str(part) for part in self.path)
        return damaged(self.line, f"{key}: {reason}" if key else reason, code=code)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def at(self, *keys: str) -> View:
        """A part of an object."""
        view = self
        for key in keys:
            below = View(None, (*view.path, key), self.text, self.first_line)
            if not isinstance(view.value, dict):
                raise view.bad("is not an object", code="E-IMPORT-058")
            if view.value.get(key) is None:
                raise below.bad("is missing", code="E-IMPORT-059")
            view = View(view.value[key], below.path, self.text, self.first_line)
        return view

    def items(self) -> Iterator[View]:
        """The parts of a list."""
        if not isinstance(self.value, list):
            raise self.bad("is not a list", code="E-IMPORT-060")
        for index, value in enumerate(self.value):
            yield View(value, (*self.path, index), self.text, self.first_line)

    def number(self, least: float = 0.0, most: float = float(MAX_COUNT)) -> float:
        """A finite number within bounds."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.bad("is not a number", code="E-IMPORT-061")
        if not least <= self.value <= most or not math.isfinite(self.value):
            raise self.bad(f"{str(self.value)[:40]} is out of bounds", code="E-IMPORT-062")
        return float(self.value)

    def count(self, least: int = 0, most: int = MAX_COUNT) -> int:
        """A whole number within bounds."""
        number = self.number(least, most)
        if number != int(number):
            raise self.bad(f"{self.value} is not a whole number", code="E-IMPORT-063")
        return self.value if isinstance(self.value, int) else int(number)

    def words(self, limit: int = 200) -> str:
        """A text of bounded length."""
        if not isinstance(self.value, str) or len(self.value) > limit:
            raise self.bad(f"is not a text of at most {limit} characters", code="E-IMPORT-064")
        return self.value


def _offset(text: str, path: tuple[str | int, ...]) -> int:
    """Offset of the value at `path`, or of the deepest part on the way to it."""
    stack: list[str | int] = []
    kinds: list[str] = []
    best, depth, pending = 0, 0, None
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word == ",":
            if kinds and kinds[-1] == "[":
                stack[-1] = int(stack[-1]) + 1
            continue
        if word == ":":
            continue
        if word in "]}":
            if kinds:
                kinds.pop()
                stack.pop()
            continue
        if kinds and kinds[-1] == "{" and pending is None:
            pending = json.loads(word) if word.startswith('"') else word
            stack[-1] = pending
            continue
        pending = None
        if tuple(stack) == path[: len(stack)] and len(stack) >= depth:
            best, depth = token.start(), len(stack)
            if depth == len(path):
                return best
        if word in "[{":
            kinds.append(word)
            stack.append(0 if word == "[" else "")
    return best
