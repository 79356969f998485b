"""Synthetic runs for the tests of the analysis."""

import pytest
import synthetic

from netlab import study as studies
from netlab.paths import data_dir


@pytest.fixture(scope="session")
def openlab():
    """The openlab study with fewer samples."""
    return studies.load(data_dir() / "studies" / "openlab-2003.yml")


@pytest.fixture(scope="session")
def runs(openlab):
    """Its 420 runs, all valid."""
    return synthetic.runs_of(openlab)
