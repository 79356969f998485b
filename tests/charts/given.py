"""Arguments of a chart function, for the tests that call them all."""

from __future__ import annotations

Given = tuple[tuple, dict]


def given(*arguments: object, **keywords: object) -> Given:
    return arguments, keywords
