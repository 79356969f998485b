"""The faults of the selected tests, caused side by side: most of their time is waiting."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from .site import SSHD, standing

SIDE_BY_SIDE = 4


@pytest.fixture(scope="session")
def before(tmp_path_factory) -> Path:
    """Results of an earlier, shorter run of the study."""
    if os.geteuid() != 0 or not SSHD or not shutil.which("ip"):
        pytest.fail("the faults need root, sshd and iproute2: they work in network namespaces")
    with standing(tmp_path_factory.mktemp("before")) as site:
        site.completed(seconds=0.3)
        return Path(shutil.copytree(site.results, site.state / "kept"))


@pytest.fixture(scope="module")
def endured(request, before, tmp_path_factory) -> Iterator[dict[str, Future]]:
    """The faults that the selected tests are about, under way."""
    cause: Callable[[str, Path, Path], None] = request.module.endure
    chosen = [
        item.callspec.params["fault"]
        for item in request.session.items
        if item.module is request.module and "fault" in getattr(item, "fixturenames", ())
    ]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        yield {
            fault: pool.submit(cause, fault, tmp_path_factory.mktemp("site"), before)
            for fault in chosen
        }
