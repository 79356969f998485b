"""Two virtual machines, booted once; tests leave them as they found them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from .image import PATHS, image
from .site import Machines, machines

NEEDED = ("qemu-system-x86_64", "busybox", "mkfs.ext4", "dpkg-deb", "ssh", "sshd", "ip", "ethtool")


@pytest.fixture(scope="package")
def two_machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """A controller and two machines that are up."""
    missing = [name for name in NEEDED if not shutil.which(name, path=PATHS)]
    if os.geteuid() != 0 or missing or not os.path.exists("/dev/net/tun"):
        pytest.fail(f"virtual machines need root, /dev/net/tun and {', '.join(NEEDED)}")
    with machines(tmp_path_factory.mktemp("vm"), image()) as site:
        yield site
