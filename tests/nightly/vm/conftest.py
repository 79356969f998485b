"""Virtual machines, booted once; tests leave them as they found them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nightly.vm.arm import Architectures, arm_image
from nightly.vm.image import image
from nightly.vm.vm_site import Machines


@pytest.fixture(scope="package")
def two_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with Machines(tmp_path_factory.mktemp("vm"), image()) as site:
        yield site


@pytest.fixture(scope="module")
def two_architectures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Architectures]:
    """A controller, a host of this architecture, and an arm64 machine that is up."""
    with Architectures(tmp_path_factory.mktemp("arm"), arm_image()) as site:
        yield site
