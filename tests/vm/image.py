"""Kernel and initramfs of the tests' virtual machines, built once from Debian packages.

`.ci/setup test` puts the package of the kernel under build/vm. It is unpacked there, not installed.
The initramfs has busybox, OpenSSH's server, the drivers of QEMU's network cards and ethtool: no
Python, no bash, no compiler."""

from __future__ import annotations

import hashlib
import lzma
import os
import re
import shutil
import stat
import subprocess
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
BUILD = ROOT / "build" / "vm"
PATHS = f"{os.environ['PATH']}:/usr/sbin:/sbin:/usr/local/sbin"
PROGRAMS = ("/usr/sbin/sshd", "/usr/lib/openssh/sftp-server", "/usr/sbin/ethtool")
MODULES = re.compile(
    r"\./lib/modules/[^/]+/(modules\.(builtin|order).*|kernel/("
    r"drivers/net/(ethernet/intel/e1000|vmxnet3|virtio_net|net_failover)"
    r"|drivers/(virtio|block/virtio_blk|ptp|pps)|net/core"
    r"|fs/(ext4|jbd2|mbcache)|lib|crypto/crc32|arch/x86/crypto/crc32"
    r"|net/ipv4/tcp_|net/sched/sch_(fq|netem)).*)"
)
"""Files of the kernel's package that the machines need."""
ACCOUNTS = {
    "passwd": "root:x:0:0:root:/root:/bin/sh\nsshd:x:100:65534::/run/sshd:/bin/false\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
    "shells": "/bin/sh\n",
}


@dataclass(frozen=True)
class Image:
    """What a machine boots.

    Attributes
    ----------
    kernel, initramfs : Path
        Their files; each machine adds its keys to the initramfs.
    """

    kernel: Path
    initramfs: Path


def image() -> Image:
    """The image; built if its parts have changed.

    Raises
    ------
    FileNotFoundError
        The kernel's package or a program is missing.
    """
    package = next(iter(sorted(BUILD.glob("linux-image-*.deb"))), None)
    if package is None:
        raise FileNotFoundError(f"no kernel's package in {BUILD}: run .ci/setup test")
    parts = hashlib.sha256(package.name.encode())
    for path in (HERE / "init", Path(__file__), *map(Path, PROGRAMS)):
        parts.update(path.read_bytes())
    built = BUILD / f"image-{parts.hexdigest()[:16]}"
    if not built.exists():
        fresh = built.with_suffix(f".{os.getpid()}")
        _build(package, fresh)
        fresh.rename(built)
    return Image(built / "vmlinux", built / "initramfs")


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


def _build(package: Path, to: Path) -> None:
    root = to / "root"
    for place in ("bin", "sbin", "etc", "dev", "proc", "sys", "usr/sbin", "usr/lib/openssh"):
        (root / place).mkdir(parents=True)
    _unpack(package, root)
    (kernel,) = (root / "boot").iterdir()
    (to / "vmlinux").write_bytes(_unpacked(kernel.read_bytes()))
    kernel.unlink()
    version = next((root / "lib" / "modules").iterdir()).name
    subprocess.run(("busybox", "depmod", "-b", root, version), check=True)
    _copy(shutil.which("busybox", path=PATHS) or "busybox", root / "bin" / "busybox")
    for program in PROGRAMS:
        _copy(program, root / program.lstrip("/"))
    for library in _libraries(PROGRAMS):
        _copy(library, root / library.lstrip("/"))
    for name, text in ACCOUNTS.items():
        (root / "etc" / name).write_text(text)
    _copy(HERE / "init", root / "init")
    os.mknod(root / "dev" / "console", 0o600 | stat.S_IFCHR, os.makedev(5, 1))
    pack(root, to / "initramfs")
    shutil.rmtree(root)


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
                files.extract(member, root, filter="data")
    if unpacking.returncode:
        raise OSError(f"{package} cannot be unpacked")


def _unpacked(kernel: bytes) -> bytes:
    """The ELF file in a compressed kernel: an interpreted processor takes long to unpack it.

    Linux, Documentation/arch/x86/boot.rst: setup_sects, payload_offset and payload_length.
    """
    begin = (kernel[0x1F1] + 1) * 512 + int.from_bytes(kernel[0x248:0x24C], "little")
    return lzma.LZMADecompressor().decompress(kernel[begin:])


def _libraries(programs: Iterable[str]) -> set[str]:
    """Shared libraries of programs, and their loader."""
    listed = subprocess.run(("ldd", *programs), capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(/\S+\.so\S*) \(0x", listed))


def _copy(source: str | Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, to)
    to.chmod(0o755)
