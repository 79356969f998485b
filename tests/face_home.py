"""A place of its own for studies and results, so that a test finds only what it put there."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic

from netlab import study as studies
from netlab.files import paths
from netlab.study.frozen import freeze

ROOT = Path(__file__).resolve().parents[1]


def home_at(directory: Path, patch: pytest.MonkeyPatch) -> Path:
    """Make `directory` the place of netlab's data and results, and the current directory."""
    data = ROOT / "data"
    place = directory / "data"
    place.mkdir()
    for name in ("examples", "published", "studies", "tunings"):
        (place / name).symlink_to(data / name)
    (directory / "notebooks").symlink_to(ROOT / "notebooks")
    patch.setenv("NETLAB_DATA", str(place))
    patch.setenv("NETLAB_HOME", str(directory))
    patch.chdir(directory)
    return directory


def measured_openlab(directory: Path | None = None) -> Path:
    """Store made-up results of the openlab study's short form; by default where they go."""
    quick = studies.load(synthetic.openlab_file(), quick=True)
    directory = directory or paths.results_dir(quick.name)
    synthetic.store_of(directory, quick)
    freeze(quick, directory)
    return directory
