"""Results that the face finds by name."""

import matplotlib
import pytest
from face_home import home_at, measured_openlab

import netlab


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a display."""
    matplotlib.use("Agg")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with made-up results of the openlab study's short form, current for the tests."""
    with pytest.MonkeyPatch.context() as patch:
        place = home_at(tmp_path_factory.mktemp("home"), patch)
        measured_openlab()
        yield place


@pytest.fixture(scope="module")
def results(home):
    return netlab.Results("openlab-2003")
