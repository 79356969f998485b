"""A virtual machine under QEMU, interpreted (TCG), and commands in it over SSH."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, ClassVar

from e2e.faults.fault_site import run, until
from nightly.vm.image import Image, pack

BOOT_S = 150.0
DISK_B = 64 << 20
CARDS = {
    "mgmt": "virtio-net-pci,romfile=",
    "e1000e": "e1000e,bus=express,romfile=",
    "e1000": "e1000,romfile=",
    "vmxnet3": "vmxnet3,romfile=",
    "virtio": "virtio-net-pci,romfile=",
}
"""Interface of each card, and QEMU's device; the first is for management."""
KERNEL = "quiet mitigations=off no_timer_check panic=-1 net.ifnames=0"
SSHD = """\
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PidFile none
Subsystem sftp /usr/lib/openssh/sftp-server
"""
LISTENS = "Server listening on 0.0.0.0 port 22"
"""What its SSH server prints on its console."""
SSH = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=3", "-o", "ServerAliveInterval=3")


@dataclass
class Guest:
    """One machine, whose memory is lost with its power; its disk, if it has one, is not.

    Its number, 1 or 2, is in addresses. The controller is words before a command that run it there,
    and its management address the one below the machine's. A clock is date and time at the boot. A
    second processor takes time to interpret.
    """

    name: str
    number: int
    address: str
    state: Path
    controller: Sequence[str]
    image: Image
    has_disk: bool = False
    clock: str = ""
    processors: int = 1
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    CONSOLE: ClassVar[str] = "ttyS0"
    FOR_INIT: ClassVar[str] = ""

    @property
    def disk(self) -> Path:
        return self.state / f"{self.name}.disk"

    @property
    def initramfs(self) -> Path:
        return self.state / f"{self.name}.initramfs"

    def made(self) -> str:
        """Make its keys, its initramfs and its disk; the line of known_hosts."""
        key = self.state / f"{self.name}.key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        with tempfile.TemporaryDirectory(dir=self.state) as directory:
            own = Path(directory) / "etc" / "ssh"
            own.mkdir(parents=True)
            shutil.copy(key, own / "host_key")
            shutil.copy(self.state / "key.pub", own / "authorized_keys")
            (own / "sshd_config").write_text(SSHD)
            pack(Path(directory), self.initramfs)
        # the kernel unpacks one archive after the other
        added = self.initramfs.read_bytes()
        self.initramfs.write_bytes(self.image.initramfs.read_bytes() + added)
        if self.has_disk:
            with self.disk.open("wb") as file:
                file.truncate(DISK_B)
            run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", self.disk)
        return f"{self.address} {key.with_suffix('.key.pub').read_text()}"

    def argv(self) -> list[str]:
        own = f"nl_name={self.name} nl_number={self.number} nl_mgmt={self.address}"
        words = [*self.machine(), "-nodefaults", "-no-user-config", "-no-reboot", "-accel", "tcg"]
        words += ["-smp", str(self.processors), "-display", "none"]
        words += ["-serial", f"file:{self.state / self.name}.console"]
        words += ["-kernel", str(self.image.kernel), "-initrd", str(self.initramfs)]
        words += ["-append", f"console={self.CONSOLE} {KERNEL} {own} {self.FOR_INIT}"]
        if self.clock:
            words += ["-rtc", f"base={self.clock}"]
        return words + self.disk_words() + self.card_words()

    def machine(self) -> list[str]:
        """QEMU's program and what it emulates."""
        memory = ("-m", "384", "-device", "pcie-root-port,id=express,chassis=1")
        return ["qemu-system-x86_64", "-machine", "q35", "-cpu", "max", *memory]

    def disk_words(self) -> list[str]:
        if not self.has_disk:
            return []
        return ["-drive", f"file={self.disk},format=raw,if=virtio,cache=writeback"]

    def card_words(self) -> list[str]:
        """QEMU's words for its cards, each joined with the same one of the other machine."""
        other = {1: 2, 2: 1}[self.number]
        words = []
        for interface in CARDS:
            ends = [self.state / f"{interface}-{end}" for end in (self.number, other)]
            link = f"dgram,local.type=unix,local.path={ends[0]}"
            link += f",remote.type=unix,remote.path={ends[1]}"
            words += self.card(interface, link if interface != "mgmt" else self.tap("to"))
        return words

    def mac(self, interface: str) -> str:
        """Hardware address of a card, which tells `init` which one it is."""
        return f"52:54:00:00:{self.number:02d}:{list(CARDS).index(interface) + 10:02d}"

    def tap(self, prefix: str) -> str:
        """QEMU's word for a device of the controller's namespace."""
        return f"tap,ifname={prefix}-{self.name},script=no,downscript=no"

    def card(self, interface: str, link: str) -> list[str]:
        """QEMU's words for a card on a link."""
        device = f"{CARDS[interface]},netdev={interface},mac={self.mac(interface)}"
        return ["-netdev", f"{link},id={interface}", "-device", device]

    def start(self) -> None:
        log = self.state / f"{self.name}.qemu"
        with log.open("ab") as file:
            self.process = subprocess.Popen(
                [*self.controller, *self.argv()],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
            )

    def wait(self) -> None:
        def answers() -> bool:
            assert self.process.poll() is None, self.console()
            # one that boots says so; an attempt before waits for seconds
            if LISTENS not in self.console():
                return False
            return self.ssh("true").returncode == 0

        try:
            until(answers, BOOT_S, 0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.console()}") from error

    def boot(self) -> None:
        """Switch the power on and wait until it takes logins."""
        self.start()
        self.wait()

    def console(self) -> str:
        """The end of what QEMU and the machine printed."""
        files = [self.state / f"{self.name}.{end}" for end in ("qemu", "console")]
        there = filter(Path.exists, files)
        return "\n".join(file.read_text(errors="replace")[-3000:] for file in there)

    def cut(self) -> None:
        """Cut the power: no signal reaches the machine, and no packet leaves it."""
        self.process.kill()
        self.process.wait()
        self.forget()

    def lost_power(self, timeout_s: float = 60) -> bool:
        """Wait until it has cut its own power."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_s)
        self.forget()
        return self.process.poll() is not None

    def when(self, condition: str, action: str) -> None:
        """Let it do something at once when a condition of its shell is true."""
        script = f"while ! {condition}; do usleep 3000; done; {action}"
        self.sh(f"({script}) >/dev/null 2>&1 </dev/null &")

    def forget(self) -> None:
        self.ssh("", "-O", "exit")

    def ssh(
        self, script: str, *options: str, input: IO[bytes] | int = subprocess.DEVNULL
    ) -> subprocess.CompletedProcess[str]:
        """Run ssh on the controller; connections are shared."""
        known = ("-o", f"UserKnownHostsFile={self.state / 'home' / '.ssh' / 'known_hosts'}")
        shared = ("-o", "ControlMaster=auto", "-o", "ControlPersist=yes")
        path = ("-o", f"ControlPath={self.state / self.name}.ssh")
        login = ("-i", str(self.state / "key"), f"root@{self.address}")
        argv = [*self.controller, "ssh", *SSH, *known, *shared, *path, *options, *login]
        if script:
            argv.append(script)
        return subprocess.run(argv, capture_output=True, text=True, stdin=input)

    def sh(self, script: str) -> str:
        """Standard output of a script in the machine's shell."""
        done = self.ssh(script)
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        return done.stdout

    def put(self, file: Path, place: str) -> None:
        script = f"cat >{place} && chmod 755 {place}"
        with file.open("rb") as content:
            done = self.ssh(script, input=content)
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        if self.process is not None:
            self.cut()
