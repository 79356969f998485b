"""Fixtures of several packages' tests: made-up results, results found by name, and a host."""

import matplotlib
import pytest
import synthetic
from face_home import home_at, measured_openlab
from local_host import LocalHost

import netlab
from netlab import study as studies
from netlab.analysis.measured import load_measured
from netlab.study.frozen import freeze


@pytest.fixture(autouse=True)
def no_window(request):
    """Draw without a display."""
    if request.node.get_closest_marker("slow"):
        matplotlib.use("Agg")


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


@pytest.fixture(scope="session")
def stores(tmp_path_factory):
    """Two campaigns of one study, in directories of their own."""
    base = tmp_path_factory.mktemp("stores")
    study = studies.load(synthetic.openlab_file(), rounds=3)
    for name, seed in (("a", 1), ("b", 2)):
        synthetic.store_of(base / name, study, synthetic.runs_of(study, seed=seed, noise=0.001))
        freeze(study, base / name)
    return base


@pytest.fixture
def host(tmp_path):
    with LocalHost(tmp_path / "home") as host:
        yield host


@pytest.fixture(scope="session")
def one_group(tmp_path_factory):
    """One group of the openlab study, with flagged and missing cells."""
    study = synthetic.openlab()

    def change(row):
        if row["group"] != "Linux64 -> Linux64" or row["streams"] == 20:
            return False
        if row["streams"] == 12 and row["mtu_B"] == 1500:
            row |= {"flags": "stalled", "message": "<i>nothing</i> came"}
        return True

    directory = tmp_path_factory.mktemp("store")
    synthetic.store_of(directory, study, synthetic.runs_of(study, change=change))
    return load_measured(directory, freeze(study, directory))
