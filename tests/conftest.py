"""Settings for all tests: hypothesis tries the same examples every time; `root` tests need root.

``make test PYTEST_ARGS=--hypothesis-profile=default`` tries new examples.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from user_state import HOME  # isort: skip  # before modules that read the environment

import apart
import pytest
from hypothesis import settings
from noise import contended_s
from run import CONTENDED, LONGEST, STUDIES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netlab.analysis.longpath_study import LongPath

pytest_plugins = ("pytester",)
# shared by several folders of tests, the first of which imports them
pytest.register_assert_rewrite("faults.causes", "faults.site", "vm.guest", "vm.site")
# no deadline: other work on the machine must not fail a property
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

TESTS = Path(__file__).parent
BEGAN = pytest.StashKey[tuple[float, float]]()
SLOW = {
    "analysis/test_outliers.py",
    "analysis/test_stability.py",
    "analysis/test_trend.py",
    "charts/test_autotune_charts.py",
    "charts/test_axes_functions.py",
    "charts/test_chart_words.py",
    "charts/test_longpath_charts.py",
    "charts/test_measured.py",
    "charts/test_palette.py",
    "charts/test_then_and_now_charts.py",
    "cli/test_cli.py",
    "docs/test_guide.py",
    "face/test_face_views.py",
    "fleet/test_stores_cells.py",
    "fleet/test_stores_comparison.py",
    "fleet/test_stores_scale.py",
    "generators/test_remote_process.py",
    "generators/test_trial.py",
    "hosts/test_pathcheck.py",
    "hosts/test_pulse.py",
    "notebooks/test_format.py",
    "notebooks/test_parameters.py",
    "notebooks/test_published_notebooks.py",
    "report/test_bundle.py",
    "report/test_crate.py",
    "report/test_document.py",
    "report/test_explore.py",
    "report/test_front.py",
    "report/test_nothing_is_lost.py",
    "report/test_publish.py",
    "report/test_report.py",
    "report/test_report_longpath.py",
    "report/test_report_precision.py",
    "report/test_site_of_a_study.py",
}
"""Tests that execute notebooks, make sites or PDFs, draw many charts, wait, simulate, or
validate RDF."""
ROOT_FIXTURES = {"privileged", "namespace", "make_namespace"}
COMPILING_FIXTURES = {"program", "faulty_program", "parse"}
"""Fixtures of tests/tuning that compile the C core."""


@pytest.fixture(autouse=True)
def no_open_figure() -> Iterator[None]:
    """Close the figures that a test leaves open, so that the next one starts without any."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.fixture(scope="session")
def lp(tmp_path_factory: pytest.TempPathFactory) -> LongPath:
    """The short form of the wide-area study, with made-up runs."""
    from long_path import loaded

    return loaded(tmp_path_factory.mktemp("long"))


def pytest_configure(config: pytest.Config) -> None:
    """Move a worker that runs beside others apart from them."""
    config.add_cleanup(HOME.cleanup)
    if apart.is_wanted():
        for group in apart.move():
            config.add_cleanup(group.leave)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by folder and fixtures, and put those of the longest files first."""
    begins = {TESTS / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: begins.get(item.path, len(begins)))
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for folder in ("e2e", "native"):
            if item.path.is_relative_to(TESTS / folder):
                item.add_marker(folder)
        if item.path.is_relative_to(TESTS / "tuning") and fixtures & COMPILING_FIXTURES:
            item.add_marker("native")
        if str(item.path.relative_to(TESTS)) in SLOW:
            item.add_marker("slow")
        if str(item.path.relative_to(TESTS)) in STUDIES:
            item.add_marker("study")
        if fixtures & ROOT_FIXTURES:
            item.add_marker(pytest.mark.root)
        elif item.get_closest_marker("root") and os.geteuid() != 0:
            item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note when the test began."""
    item.stash[BEGAN] = (time.monotonic(), contended_s())


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item) -> None:
    """Tell the share of the test's time in which work waited for a CPU."""
    began_s, before_s = item.stash[BEGAN]
    share = (contended_s() - before_s) / max(time.monotonic() - began_s, 0.001)
    item.user_properties[:] = [
        *(one for one in item.user_properties if one[0] != CONTENDED),
        (CONTENDED, share),
    ]
