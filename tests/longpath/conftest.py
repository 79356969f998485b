"""The short form of the wide-area study, which several tests read."""

from __future__ import annotations

import pytest
from longpath.long_path import loaded

from netlab.longpath.analysis import LongPath


@pytest.fixture(scope="session")
def lp(tmp_path_factory: pytest.TempPathFactory) -> LongPath:
    """The short form of the wide-area study, with made-up runs."""
    return loaded(tmp_path_factory.mktemp("long"))
