"""A host of another architecture, an arm64 machine, and one of this: a network namespace.

The controller reaches the machine through a tap; another one is the other host's data interface.

netlab compiles its agent there, which takes minutes, before the tests. `.ci/setup nightly` puts
Debian's packages under build/vm/arm64; they are unpacked, not installed. The initramfs has busybox
and drivers; the disk is /usr: OpenSSH's server, and gcc under a name of its own, so that the
machine has no compiler until it gets a name for it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import yaml
from e2e.faults.fault_site import ADDRESSES, Site
from nightly.vm.guest import Guest
from nightly.vm.image import BUILD, PATHS, Image, cached, copy, initramfs, kernel_in
from nightly.vm.vm_site import study_of

from netlab.hosts.ssh import SshHost

PACKAGES = BUILD / "arm64"
TRIPLET = "aarch64-linux-gnu"
DISK = "320M"
COMPILER = "/usr/bin/gcc-12"
LEFT_OUT = (
    *("./usr/share", "./etc", "./var", "*/perl*", "*/locale", "*/gconv", "*/python*"),
    *("*/lto1", "*/lto-wrapper", "*/g++*", "*san.*", "*/gprofng*", "*.gox", "*/systemd"),
)
"""What a shell, sshd and a compiler of C do not need; no Python and no perl."""


COMPILED_S = 400.0
"""Timeout of a compilation there; netlab's own is less."""
DATA = {"a": ("198.18.4.1", "data0"), "b": ("198.18.4.2", "virtio")}
"""Address and interface of either end of the path."""


@dataclass(frozen=True)
class ArmImage(Image):
    """Files that an arm64 machine boots, and the disk with its programs."""

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


class ArmGuest(Guest):
    """An arm64 machine, interpreted."""

    image: ArmImage
    CONSOLE: ClassVar[str] = "ttyAMA0"
    FOR_INIT: ClassVar[str] = "nl_usr=yes"

    def machine(self) -> list[str]:
        # a simple processor: one that signs pointers takes twice as long to interpret
        return ["qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a57", "-m", "512"]

    def disk_words(self) -> list[str]:
        drive = f"file={self.image.usr},format=raw,if=none,id=usr,readonly=on"
        return ["-drive", drive, "-device", "virtio-blk-pci,drive=usr"]

    def card_words(self) -> list[str]:
        return [*self.card("mgmt", self.tap("to")), *self.card("virtio", self.tap("data"))]


class Architectures(Site):
    """The controller, the namespace a, and the machine b."""

    def __init__(self, state: Path, image: ArmImage):
        super().__init__(state)
        self.namespaces = {name: self.namespaces[name] for name in ("ctl", "a")}
        controller = ("ip", "netns", "exec", self.namespaces["ctl"])
        self.machine = ArmGuest("b", 2, ADDRESSES["b"][0], state, controller, image)
        study = study_of(
            {name: management for name, (management, _, _) in ADDRESSES.items()},
            state / "key",
            {"cable": DATA},
            [{"name": "as-found"}],
            groups=[{"name": f"from-{name}", "path": "cable", "sender": name} for name in DATA],
            streams=[2],
            socket={"pacing_MBps": 2},
        )
        self.study.write_text(yaml.safe_dump(study, sort_keys=False))

    def up(self) -> None:
        """Boot the machine, whose second tap becomes an interface of host a, and compile there."""
        self.make_controller()
        known = self.make_host("a") + self.machine.made()
        (self.state / "home" / ".ssh" / "known_hosts").write_text(known)
        self.ip("ctl", "tuntap add dev to-b mode tap")
        self.ip("ctl", f"addr add {ADDRESSES['b'][1]}/30 dev to-b")
        self.ip("ctl", "link set to-b up")
        self.ip("ctl", "tuntap add dev data-b mode tap")
        self.machine.boot()
        self.ip("ctl", f"link set data-b netns {self.namespaces['a']} name data0")
        self.ip("a", f"addr add {DATA['a'][0]}/24 dev data0")
        self.ip("a", "link set data0 addrgenmode none up")
        # how fast the agent is there tells nothing, and an interpreted optimiser takes minutes
        wrapper = f'#!/bin/sh\nexec {COMPILER} "$@" -O0\n'
        self.machine.sh(f"printf %s {shlex.quote(wrapper)} >/bin/gcc; chmod +x /bin/gcc")
        code, said = self.check(COMPILED_S)
        assert code == 0, said
        self.machine.sh("rm /bin/gcc")

    def connected(self) -> SshHost:
        """The machine as netlab's host, for a block."""
        address = self.machine.address
        netcat = shlex.join(self.inside("ctl", "busybox", "nc", address, "22"))
        return SshHost(
            "b",
            address,
            user="root",
            identity_file=str(self.state / "key"),
            proxy_command=netcat,
            known_hosts=self.state / "home" / ".ssh" / "known_hosts",
        )

    def down(self) -> None:
        self.machine.stop()
        super().down()
