"""Kernel, initramfs and disk of a machine of another architecture (arm64), from Debian's packages.

`.ci/setup nightly` puts the packages under build/vm/arm64; they are unpacked, not installed. The
initramfs has busybox and drivers. The disk is /usr: OpenSSH's server, and gcc under a name of its
own, so that the machine has no compiler until it gets a name for it."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from .image import BUILD, PATHS, Image, cached, copy, initramfs, kernel_in

PACKAGES = BUILD / "arm64"
TRIPLET = "aarch64-linux-gnu"
DISK = "320M"
COMPILER = "/usr/bin/gcc-12"
LEFT_OUT = (
    *("./usr/share", "./etc", "./var", "*/perl*", "*/locale", "*/gconv", "*/python*"),
    *("*/lto1", "*/lto-wrapper", "*/g++*", "*san.*", "*/gprofng*", "*.gox", "*/systemd"),
)
"""What a shell, sshd and a compiler of C do not need; no Python and no perl."""


@dataclass(frozen=True)
class ArmImage(Image):
    """What an arm64 machine boots.

    Attributes
    ----------
    usr : Path
        The disk with its programs.
    """

    usr: Path


def arm_image() -> ArmImage:
    """The image; built if its packages or this file have changed."""
    packages = sorted(PACKAGES.glob("*.deb"))
    kernel = kernel_in(PACKAGES)
    names = [package.name for package in packages]
    built = cached("arm64-image", names, [__file__], partial(_build, kernel, packages))
    return ArmImage(built / "vmlinuz", built / "initramfs", built / "usr.disk")


def _build(kernel: Path, packages: list[Path], to: Path) -> None:
    tree = to / "tree"
    for place in ("bin", "sbin", "lib"):
        (tree / "usr" / place).mkdir(parents=True)
        (tree / place).symlink_to(f"usr/{place}")
    for package in packages:
        if package != kernel:
            _unpack(package, tree)
    initramfs(kernel, to, partial(_add_programs, tree))
    disk = to / "usr.disk"
    argv = ("mkfs.ext4", "-q", "-d", tree / "usr", "-O", "^has_journal", disk, DISK)
    subprocess.run(argv, check=True, env={**os.environ, "PATH": PATHS})
    shutil.rmtree(tree)


def _unpack(package: Path, tree: Path) -> None:
    """All of a package that is needed, into a tree whose /bin and /lib are those of /usr."""
    excluded = [f"--exclude={pattern}" for pattern in LEFT_OUT]
    with subprocess.Popen(
        ("dpkg-deb", "--fsys-tarfile", package), stdout=subprocess.PIPE
    ) as unpacking:
        argv = ("tar", "-x", "--keep-directory-symlink", "-C", tree, *excluded)
        subprocess.run(argv, stdin=unpacking.stdout, check=True)
    if unpacking.returncode:
        raise OSError(f"{package} cannot be unpacked")


def _add_programs(tree: Path, root: Path) -> None:
    copy(tree / "usr" / "bin" / "busybox", root / "bin" / "busybox")
    (root / "usr").mkdir()
    # the rest of /lib is on the disk
    for name in (TRIPLET, "ld-linux-aarch64.so.1"):
        (root / "lib" / name).symlink_to(f"/usr/lib/{name}")
