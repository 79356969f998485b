"""Mistakes of a study that are found one by one, and reported together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic_core import PydanticCustomError


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
        """Raise the mistakes, if there are any.

        Raises
        ------
        ValueError
            The only one.
        PydanticCustomError
            Several: ``mistakes`` of its context are the errors.
        """
        if len(self._mistakes) == 1:
            raise self._mistakes[0]
        if self._mistakes:
            several = {"count": len(self._mistakes), "mistakes": self._mistakes}
            raise PydanticCustomError("several", "{count} mistakes", several)
