"""Results that netlab finds by name, two campaigns of a study, and a host."""

import pytest
import synthetic
from local_host import LocalHost

from netlab import study as studies
from netlab.study.file import freeze
from tests.face.conftest import home, no_window, results

__all__ = ["home", "no_window", "results"]


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
