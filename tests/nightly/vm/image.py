"""Kernel and initramfs of the tests' virtual machines, built once from Debian packages.

`.ci/setup nightly` puts the package of the kernel under build/vm, where it is unpacked.
The initramfs has busybox, OpenSSH's server, the drivers of QEMU's network cards, ethtool and, for
paths inside a machine, those of a lab: no Python, no bash, no compiler."""

from __future__ import annotations

import fcntl
import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "vm"
PATHS = f"{os.environ['PATH']}:/usr/sbin:/sbin:/usr/local/sbin"
PROGRAMS = {
    "/usr/sbin/sshd": "usr/sbin/sshd",
    "/usr/lib/openssh/sftp-server": "usr/lib/openssh/sftp-server",
    "/usr/sbin/ethtool": "usr/sbin/ethtool",
    "/bin/ip": "opt/debian/ip",
    "/sbin/tc": "opt/debian/tc",
    "/usr/bin/unshare": "opt/debian/unshare",
    "/usr/bin/setsid": "opt/debian/setsid",
    "/usr/bin/iperf3": "usr/bin/iperf3",
    "/bin/dash": "opt/debian/sh",
}
"""Programs of this machine and their places there."""
DEBIAN = "/opt/debian"
"""Programs in place of those of busybox, whose shell takes its own before any path."""
MODULES = re.compile(
    r"\./lib/modules/[^/]+/(modules\.(builtin|order).*|kernel/("
    r"drivers/net/(ethernet/intel/e1000|vmxnet3|virtio_net|net_failover|tun|veth|bonding|vrf)"
    r"|net/(8021q|802|llc|tls)"
    r"|drivers/(virtio|block/virtio_blk|ptp|pps)|net/core"
    r"|fs/(ext4|jbd2|mbcache)|lib|crypto/crc32|arch/x86/crypto/crc32"
    r"|net/ipv4/tcp_|net/sched/sch_(cake|fq|netem|tbf)).*)"
)
"""Files of the kernel's package that the machines need."""
ACCOUNTS = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "shells": "/bin/sh\n",
}


@dataclass(frozen=True)
class Image:
    """Files that a machine boots; each machine adds its keys to the initramfs."""

    kernel: Path
    initramfs: Path


def image() -> Image:
    """The image of machines of this architecture; built if its parts have changed."""
    package = kernel_in(BUILD)
    built = cached("image", [package.name, *PROGRAMS.values()], PROGRAMS, partial(_build, package))
    return Image(built / "vmlinux", built / "initramfs")


def kernel_in(place: Path) -> Path:
    """The kernel's package.

    Raises
    ------
    FileNotFoundError
        It is missing.
    """
    package = next(iter(sorted(place.glob("linux-image-*.deb"))), None)
    if package is None:
        raise FileNotFoundError(f"no kernel's package in {place}: run .ci/setup nightly")
    return package


def cached(
    name: str, words: Iterable[str], files: Iterable[str | Path], build: Callable[[Path], None]
) -> Path:
    """A directory of an image, built by one process at a time if it is made of other parts.

    Words and files are its parts, beside the files that describe every image.
    """
    parts = hashlib.sha256("\n".join(words).encode())
    for path in (HERE / "init", Path(__file__), *map(Path, files)):
        parts.update(path.read_bytes())
    built = BUILD / f"{name}-{parts.hexdigest()[:16]}"
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            for old in BUILD.glob(f"{name}-*"):
                shutil.rmtree(old)
            fresh = BUILD / f"{name}-fresh"
            shutil.rmtree(fresh, ignore_errors=True)  # of a process that was killed
            fresh.mkdir()
            build(fresh)
            fresh.rename(built)
    return built


def pack(tree: Path, archive: Path) -> None:
    """Write a tree as a cpio archive for the kernel."""
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    done = subprocess.run(
        ("busybox", "cpio", "-o", "-H", "newc"),
        cwd=tree,
        input="\n".join(names).encode(),
        capture_output=True,
        check=True,
    )
    archive.write_bytes(done.stdout)


def initramfs(package: Path, to: Path, fill: Callable[[Path], None]) -> Path:
    """Write `initramfs` into an empty directory, and the kernel of a package as `vmlinuz`.

    The programs of the tree are what `fill` adds.
    """
    root = to / "root"
    for place in ("bin", "sbin", "etc", "dev", "proc", "sys", "var"):
        (root / place).mkdir(parents=True)
    _unpack(package, root)
    (kernel,) = (root / "boot").iterdir()
    kernel = kernel.rename(to / "vmlinuz")
    version = next((root / "lib" / "modules").iterdir()).name
    subprocess.run(("busybox", "depmod", "-b", root, version), check=True)
    fill(root)
    for name, text in ACCOUNTS.items():
        (root / "etc" / name).write_text(text)
    copy(HERE / "init", root / "init")
    os.mknod(root / "dev" / "console", 0o600 | stat.S_IFCHR, os.makedev(5, 1))
    pack(root, to / "initramfs")
    shutil.rmtree(root)
    return kernel


def copy(source: str | Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)
    to.chmod(0o755)


def _build(package: Path, to: Path) -> None:
    kernel = initramfs(package, to, _add_programs)
    (to / "vmlinux").write_bytes(_unpacked(kernel.read_bytes()))
    kernel.unlink()


def _add_programs(root: Path) -> None:
    copy(shutil.which("busybox", path=PATHS) or "busybox", root / "bin" / "busybox")
    for program, place in PROGRAMS.items():
        copy(program, root / place)
    for library in _libraries(PROGRAMS):
        copy(library, root / library.lstrip("/"))


def _unpack(package: Path, root: Path) -> None:
    """The kernel and the modules of its package that are needed."""
    argv = ("dpkg-deb", "--fsys-tarfile", package)
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE) as unpacking,
        tarfile.open(fileobj=unpacking.stdout, mode="r|") as files,
    ):
        for member in files:
            if member.isfile() and (
                member.name.startswith("./boot/vmlinuz") or MODULES.fullmatch(member.name)
            ):
                target = root / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as unpacked:
                    shutil.copyfileobj(files.extractfile(member), unpacked)
    if unpacking.returncode:
        raise OSError(f"{package} cannot be unpacked")


def _unpacked(kernel: bytes) -> bytes:
    """The ELF file in a compressed kernel: an interpreted processor takes long to unpack it.

    Linux, Documentation/arch/x86/boot.rst: setup_sects, payload_offset and payload_length.
    """
    begin = (kernel[0x1F1] + 1) * 512 + int.from_bytes(kernel[0x248:0x24C], "little")
    return lzma.LZMADecompressor().decompress(kernel[begin:])


def _libraries(programs: Iterable[str]) -> set[str]:
    listed = subprocess.run(("ldd", *programs), capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(/\S+\.so\S*) \(0x", listed))
