"""Mistakes of a study that are found one by one, and reported together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class SeveralMistakes(ValueError):
    """Mistakes of one model, which pydantic takes for one."""

    def __init__(self, mistakes: list[ValueError]):
        super().__init__(f"{len(mistakes)} mistakes")
        self.mistakes = mistakes


class MistakesFound:
    """Mistakes found so far."""

    def __init__(self) -> None:
        self._mistakes: list[ValueError] = []

    @contextmanager
    def mistakes(self) -> Iterator[None]:
        """Note the mistake that the block raises, and go on after it."""
        try:
            yield
        except ValueError as mistake:
            self._mistakes.append(mistake)

    def refuse(self) -> None:
        """Raise the mistakes, if there are any."""
        if self._mistakes:
            several = SeveralMistakes(self._mistakes)  # each has a code
            raise self._mistakes[0] if len(self._mistakes) == 1 else several
