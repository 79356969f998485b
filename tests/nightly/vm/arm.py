"""A host of another architecture, an arm64 machine, and one of this: a network namespace.

The controller reaches the machine through a tap; another one is the other host's data interface.

netlab compiles its agent there, which takes minutes, before the tests."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import yaml
from faults.site import ADDRESSES, Site

from netlab.hosts.ssh import SshHost

from .arm_image import COMPILER, ArmImage
from .guest import Guest

COMPILED_S = 400.0
"""Timeout of a compilation there; netlab's own is less."""
DATA = {"a": ("198.18.4.1", "data0"), "b": ("198.18.4.2", "virtio")}
"""Address and interface of either end of the path."""
STUDY = {
    "netlab": 1,
    "name": "architectures",
    "title": "A study of two hosts of different architectures",
    "groups": [{"name": f"from-{name}", "path": "cable", "sender": name} for name in DATA],
    "tunings": [{"name": "as-found"}],
    "streams": [2],
    "socket": {"pacing_MBps": 2},
    # interpreted processors: no figure means anything
    "noise": {
        **{"steal_percent": 100, "foreign_cpu_percent": 100},
        **{"foreign_traffic_percent": 100, "retries": 0},
    },
}


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
        self.write_study()

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

    def check(self, timeout_s: float = 120.0) -> tuple[int, str]:
        """Exit code and output of `netlab check`."""
        process = self.start("check", str(self.study))
        out, complaint = process.communicate(timeout=timeout_s)
        return process.returncode, out + complaint

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

    def write_study(self) -> None:
        hosts = {
            name: {
                **{"kind": "ssh", "address": address, "user": "root"},
                "identity_file": str(self.state / "key"),
            }
            for name, (address, _, _) in ADDRESSES.items()
        }
        ends = [
            {"host": name, "address": address, "interface": interface}
            for name, (address, interface) in DATA.items()
        ]
        content = {**STUDY, "hosts": hosts, "paths": {"cable": {"ends": ends}}}
        self.study.write_text(yaml.safe_dump(content, sort_keys=False))


@contextlib.contextmanager
def architectures(state: Path, image: ArmImage) -> Iterator[Architectures]:
    """A machine that is up, and a host beside it."""
    site = Architectures(state, image)
    try:
        site.up()
        yield site
    finally:
        site.down()
