"""Checked access to JSON: each access checks the type, each error has a line and a key."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from netlab.errors import BadInput
from netlab.files.bounded_json import no_constant
from netlab.outputs.records import MAX_COUNT, damaged

_NO_BLANK = re.compile(r"\S|\Z")


def _after_blanks(text: str, at: int) -> int:
    match = _NO_BLANK.search(text, at)
    return len(text) if match is None else match.start()


_NAN = re.compile(r"(?<=[:,\[\s])-?nan(?=[\s,}\]])")
"""Text of an old cJSON for a number that is none."""

OBJECT = re.compile(r"^[ \t]*(?=\{)", re.MULTILINE)
_NOT_ECHO = re.compile(r"[\[\]{}\"]")
_OUTERMOST = re.compile(r"^\{", re.MULTILINE)
MAX_DAMAGED = 100
"""Damaged documents of a text; each costs the time of counting the lines before it."""


def documents(text: str) -> list[View | BadInput]:
    """All JSON objects of a text, or what is wrong with one; an echo between them is left out."""
    decoder = json.JSONDecoder(parse_constant=no_constant)
    text = _NAN.sub("null", text)
    newlines = [newline.start() for newline in re.finditer("\n", text)]
    views: list[View | BadInput] = []
    first = OBJECT.search(text)
    at = first.end() if first else 0
    while (at := _after_blanks(text, at)) < len(text) or not views:
        end = text.find("\n", at) + 1 or len(text)
        if views and text[at] != "{" and not _NOT_ECHO.search(text, at, end):
            at = end
            continue
        line, end = 1 + bisect_left(newlines, at), -1
        bad = None
        try:
            value, end = decoder.raw_decode(text, at)
            if not isinstance(value, dict):
                bad = damaged(line, "expected a JSON object", code="E-IMPORT-057")
        except json.JSONDecodeError as error:
            bad = damaged(error.lineno, f"not JSON: {error.msg}", code="E-IMPORT-055")
        except (ValueError, RecursionError) as error:
            bad = damaged(line, f"cannot parse the JSON: {error}", code="E-IMPORT-056")
        views.append(bad or View(value, (), text[at:end], line))
        if bad and sum(isinstance(one, BadInput) for one in views) > MAX_DAMAGED:
            raise bad
        if end < 0:  # the next one may begin on a line of its own
            again = _OUTERMOST.search(text, at + 1)
            end = again.start() if again else len(text)
        at = end
    return views


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
        at = 0
        with suppress(RecursionError):  # nested nearly too deeply to be read
            at = _offset(self.text, self.path)
        return self.first_line + self.text.count("\n", 0, at)

    def bad(self, reason: str, *, code: str) -> BadInput:
        key = ".".join(str(part) for part in self.path)
        return damaged(self.line, f"{key}: {reason}" if key else reason, code=code)

    def expect(self, condition: object, reason: str, code: str) -> None:
        if not condition:
            raise self.bad(reason, code=code)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def at(self, *keys: str) -> View:
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
        if not isinstance(self.value, list):
            raise self.bad("is not a list", code="E-IMPORT-060")
        for index, value in enumerate(self.value):
            yield View(value, (*self.path, index), self.text, self.first_line)

    def each(self, key: str, *below: str) -> Iterator[View]:
        """The parts of a list of this object, or of the lists in each of them."""
        for item in self.at(key).items():
            yield from item.each(*below) if below else (item,)

    def number(self, least: float = 0.0, most: float = float(MAX_COUNT)) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.bad("is not a number", code="E-IMPORT-061")
        if not least <= self.value <= most or not math.isfinite(self.value):
            raise self.bad(f"{str(self.value)[:40]} is out of bounds", code="E-IMPORT-062")
        return float(self.value)

    def count(self, least: int = 0, most: int = MAX_COUNT) -> int:
        number = self.number(least, most)
        self.expect(
            number == int(number), f"{self.value} is not a whole number", code="E-IMPORT-063"
        )
        return self.value if isinstance(self.value, int) else int(number)

    def known(self, key: str, most: int = MAX_COUNT) -> int | None:
        """A count that may be missing, or 0 where the tool does not know it."""
        return (self.at(key).count(0, most) or None) if key in self else None

    def words(self, limit: int = 200) -> str:
        if not isinstance(self.value, str) or len(self.value) > limit:
            raise self.bad(f"is not a text of at most {limit} characters", code="E-IMPORT-064")
        return self.value


def _offset(text: str, path: tuple[str | int, ...]) -> int:
    """Offset of the value at `path`, or of the deepest part on the way to it."""
    decoder, at = json.JSONDecoder(), 0
    for wanted in path if text else ():
        child = _after_blanks(text, at + 1)
        for number in count():
            if text[at] not in "[{" or text[child] in "]}":
                return at
            key: str | int = number
            if text[at] == "{":
                key, child = decoder.raw_decode(text, child)
                child = _after_blanks(text, _after_blanks(text, child) + 1)
            if key == wanted:
                break
            _, child = decoder.raw_decode(text, child)
            child = _after_blanks(text, child)
            child = _after_blanks(text, child + 1) if text[child] == "," else child
        at = child
    return at
