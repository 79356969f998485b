"""Assert an error by its stable code, so that its words can improve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from netlab.errors import NetlabError


@contextmanager
def refused(
    kind: type[NetlabError], *codes: str, match: str | None = None
) -> Iterator[pytest.ExceptionInfo[NetlabError]]:
    """Expect an error of a class with one of these codes.

    Parameters
    ----------
    kind : type of NetlabError
        Its class.
    *codes : str
        The codes it may have.
    match : str, optional
        A regular expression for the values in its message: names, lines, numbers.
    """
    with pytest.raises(kind, match=match) as caught:
        yield caught
    assert caught.value.code in codes, f"{caught.value.code}: {caught.value}"
