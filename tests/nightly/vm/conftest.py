"""Virtual machines, booted once; tests leave them as they found them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from .arm import Architectures, architectures, arm_image
from .image import PATHS, image
from .site import Machines, machines

NEEDED = (
    *("qemu-system-x86_64", "qemu-system-aarch64", "busybox", "mkfs.ext4", "dpkg-deb"),
    *("ssh", "sshd", "ip", "tc", "ethtool"),
)


def check_needed() -> None:
    """Fail where virtual machines cannot be made."""
    missing = [name for name in NEEDED if not shutil.which(name, path=PATHS)]
    if os.geteuid() != 0 or missing or not os.path.exists("/dev/net/tun"):
        pytest.fail(f"virtual machines need root, /dev/net/tun and {', '.join(NEEDED)}")


@pytest.fixture(scope="package")
def two_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A controller and two machines that are up."""
    check_needed()
    with machines(tmp_path_factory.mktemp("vm"), image()) as site:
        yield site


@pytest.fixture(scope="module")
def two_architectures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Architectures]:
    """A controller, a host of this architecture, and an arm64 machine that is up."""
    check_needed()
    with architectures(tmp_path_factory.mktemp("arm"), arm_image()) as site:
        yield site
