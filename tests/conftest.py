"""Settings for all tests: hypothesis tries the same examples every time.

``make test PYTEST_ARGS=--hypothesis-profile=default`` tries new examples.
"""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from user_state import HOME  # isort: skip  # before modules that read the environment

import apart
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# shared by several folders of tests, the first of which imports them
pytest.register_assert_rewrite(
    *("e2e.faults.of_hosts", "e2e.faults.of_processes", "e2e.faults.of_the_controller"),
    *("e2e.faults.of_the_way", "e2e.faults.under_way", "e2e.faults.fault_site"),
    *("nightly.vm.guest", "nightly.vm.vm_site", "imports.read_formats", "measure.ends_of_flags"),
    *("measure.exchanged_run", "measure.flagged_runs", "native.agent_peers", "fleet.planned_fleet"),
    "analysis.crossed_runs",
)
pytest_plugins = ("shared_fixtures",)
# no deadline: other work on the machine must not fail a property
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def no_open_figure() -> Iterator[None]:
    """Close the figures that a test leaves open, so that the next one starts without any."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what lies in a folder `slow`."""
    for item in items:
        if item.path.parent.name == "slow":
            item.add_marker(pytest.mark.slow)


def pytest_configure(config: pytest.Config) -> None:
    """Let tests signal, and move a worker that runs beside others apart from them."""
    config.addinivalue_line("markers", "slow: takes a quarter of a second, or seconds")
    # a job in the background ignores these, and so would every process that the tests signal
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    config.add_cleanup(HOME.cleanup)
    if apart.is_wanted():
        for group in apart.move():
            config.add_cleanup(group.leave)
