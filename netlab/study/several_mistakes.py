"""Mistakes of a study that are found one by one, and reported together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator


class SeveralMistakes(ValueError):
    """Mistakes of one model, which pydantic takes for one."""

    def __init__(self, mistakes: list[ValueError]):
        super().__init__(f"{len(mistakes)} mistakes")
        self.mistakes = mistakes


def tried(check: Callable[..., object], *arguments: object) -> Iterator[ValueError]:
    """The mistake that a check raises, if it does."""
    try:
        check(*arguments)
    except ValueError as mistake:
        yield mistake


def refuse(mistakes: Iterable[ValueError]) -> None:
    """Raise mistakes, several as one; each has a code."""
    if several := list(mistakes):
        raise several[0] if len(several) == 1 else SeveralMistakes(several)
