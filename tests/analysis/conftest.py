"""Synthetic runs for the tests of the analysis."""

import pytest
import synthetic


@pytest.fixture(scope="session")
def openlab():
    return synthetic.openlab()


@pytest.fixture(scope="session")
def runs(openlab):
    """Its 420 runs, all valid."""
    return synthetic.runs_of(openlab)


@pytest.fixture
def foreign(tmp_path):
    """A study unlike that of 2003: no bus, no table, one tuning, one MTU."""
    return synthetic.foreign(tmp_path)
