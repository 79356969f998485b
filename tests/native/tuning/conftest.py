"""A network namespace of one's own, and `gensink tune` inside it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import hashlib
import itertools
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import pytest
from spoken_agent import Agent
from waiting import until

from .rtnetlink import read_sizes, write_size

ROOT = Path(__file__).resolve().parents[3]
NATIVE = ROOT / "native"
RUN = Path("/run/netlab")
"""Locks and journals of root."""
_counter = itertools.count()
SIOCGIFMTU, SIOCSIFMTU, SIOCGIFTXQLEN, SIOCSIFTXQLEN = 0x8921, 0x8922, 0x8942, 0x8943


def compile_program(main: str, to: Path, *flags: str) -> Path:
    """Compile the sources of gensink and one file with a main, with only a C compiler.

    Programs share the objects of sources that none of their macros is in, in build/.
    """
    lines = (NATIVE / "sources.txt").read_text().splitlines()
    names = [line.split()[1] for line in lines if not line.startswith("#")]
    sources = [ROOT / "tests/native" / main, *(NATIVE / "src" / name for name in names)]
    macros = [flag for flag in flags if flag.startswith("-D")]
    linked = [flag for flag in flags if flag not in macros]
    files = [*NATIVE.rglob("*"), *(ROOT / "tests/native").glob("*.[ch]")]
    content = b"".join(path.read_bytes() for path in sorted(files) if path.is_file())
    key = hashlib.sha256(content).hexdigest()[:16]
    shared, own = ROOT / "build" / f"tune-{key}", to.with_name(f"{to.name}-objects")
    shared.mkdir(parents=True, exist_ok=True)
    own.mkdir()
    command = ["cc", "-O1", "-std=c11", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra", "-Werror"]
    command += [f"-I{NATIVE / 'include'}", f"-I{NATIVE / 'src'}", f"-I{shared}"]

    def compile_one(numbered: tuple[int, Path]) -> Path:
        number, source = numbered
        text = source.read_text()
        defined = [flag for flag in macros if flag[2:].partition("=")[0] in text]
        done = (own if defined else shared) / f"{number}-{source.stem}.o"
        if not done.exists():
            subprocess.run([*command, *defined, "-c", "-o", f"{done}.new", source], check=True)
            os.rename(f"{done}.new", done)
        return done

    with (shared / "lock").open("w") as lock, ThreadPoolExecutor(max_workers=2) as pool:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "nl_digest.h").exists():
            digest = (sys.executable, NATIVE / "cmake" / "digest.py", NATIVE, "0")
            subprocess.run((*digest, shared / "nl_digest.h"), check=True)
        compiled = list(pool.map(compile_one, enumerate(sources)))
    subprocess.run([*command, *linked, "-o", to, *compiled, "-lm"], check=True)
    return to


class ProcessChannel(Agent):
    """The channel of a local process, whose group is its own."""

    def __init__(self, argv: list[str]):
        super().__init__(*argv, start_new_session=True)

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, line: str) -> None:
        self.say(line)

    def send_bytes(self, data: bytes) -> None:
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def ask_all(self, line: str, final: str) -> list[dict[str, Any]]:
        """Every answer up to the final one."""
        answers = [self.ask(line)]
        while answers[-1]["event"] not in (final, "error"):
            answers.append(self.receive())
        return answers

    def guard_pid(self) -> int:
        """The child of the tune process."""
        (child,) = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return int(child)

    def kill_guard(self) -> int:
        """Kill the guard and wait until it is dead; its process id."""
        guard = self.guard_pid()
        os.kill(guard, signal.SIGKILL)
        stat = Path(f"/proc/{guard}/stat")
        with contextlib.suppress(FileNotFoundError):
            until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "Z")
        return guard

    def kill_both(self) -> None:
        """Kill process and guard so that neither can act on the other's death."""
        self.kill(signal.SIGSTOP)
        self.kill_guard()
        self.kill()

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait(timeout=30)

    def close(self) -> int:
        """End of input, which it may have closed; the exit code."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        return super().close()


class Namespace:
    """A network namespace with a veth pair, v0 and v1, both up."""

    def __init__(self, program: Path):
        self.name = f"nlt-{os.getpid()}-{next(_counter)}"
        self.program = program
        self.prefix: tuple[str, ...] = ()
        self.channels: list[ProcessChannel] = []
        subprocess.run(["ip", "netns", "add", self.name], check=True)
        self._thread = ThreadPoolExecutor(max_workers=1, initializer=self._enter)
        self.sh(
            "ip link add v0 type veth peer name v1;"
            "for i in v0 v1; do ip link set $i addrgenmode none && ip link set $i up; done"
        )

    def _enter(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self.name}") as file:
            if libc.setns(file.fileno(), 0x40000000) != 0:
                raise OSError(ctypes.get_errno(), "setns")

    def inside(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call in a thread that lives in the namespace."""
        return self._thread.submit(call, *arguments).result(timeout=30)

    def sh(self, script: str) -> str:
        return subprocess.run(
            ["ip", "netns", "exec", self.name, "sh", "-c", script],
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def sysctl(self, name: str, value: str | None = None) -> str:
        path = Path("/proc/sys", *name.split("."))

        def run() -> str:
            if value is not None:
                path.write_text(value)
            return " ".join(path.read_text().split())

        return self.inside(run)

    def link(self, kind: str, value: int | None = None, interface: str = "v0") -> int:
        get, put = {
            "mtu": (SIOCGIFMTU, SIOCSIFMTU),
            "txqueuelen": (SIOCGIFTXQLEN, SIOCSIFTXQLEN),
        }[kind]

        def run() -> int:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                if value is not None:
                    fcntl.ioctl(sock, put, struct.pack("16si12x", interface.encode(), value))
                got = fcntl.ioctl(sock, get, struct.pack("16si12x", interface.encode(), 0))
            return struct.unpack("16si12x", got)[1]

        return self.inside(run)

    def sizes(self, interface: str = "v0") -> dict[str, int]:
        """GSO and GRO maxima of an interface."""
        return self.inside(read_sizes, interface)

    def set_size(self, name: str, value: int, interface: str = "v0") -> None:
        """Set one of them, as another program would."""
        self.inside(write_size, interface, name, value)

    def dump(self) -> str:
        """Every setting that a tuning could change."""
        return f"{self.sizes()}\n{self.sizes('v1')}\n" + self.sh(
            "sysctl -a 2>/dev/null | grep -v -e conntrack_count -e fastopen_key -e random "
            "-e stable_secret -e '^fs[.]' -e '^kernel[.]' -e '^vm[.]' -e '^dev[.]'"
            # congestion controls are the whole machine's, and another test may have loaded some
            " | sed 's/ nl_[a-z0-9_]*//g';"
            "ip -d link; ip addr; for i in v0 v1; do ethtool -k $i; ethtool -l $i;"
            "for f in gro_flush_timeout napi_defer_hard_irqs mtu tx_queue_len; do"
            " cat /sys/class/net/$i/$f; done; done"
        )

    def argv(self, *options: str) -> list[str]:
        enter = ["nsenter", f"--net=/run/netns/{self.name}"]
        return [*enter, *self.prefix, str(self.program), *options]

    def tune(self, *options: str, ready: bool = True):
        """A ready `gensink tune` in here."""
        channel = ProcessChannel(self.argv(*options))
        self.channels.append(channel)
        if ready:
            channel.ready = channel.receive()
            assert channel.ready["event"] == "ready"
        return channel

    def settled(self) -> None:
        """Wait until no session is left in here: the guard of a dead one has reverted it."""
        until(self.lock_is_free)

    @property
    def inode(self) -> int:
        """By which the files of the sessions in here are named."""
        return os.stat(f"/run/netns/{self.name}").st_ino

    @property
    def lock(self) -> Path:
        """The lock file of the sessions in here."""
        return RUN / f"tune-{self.inode}.lock"

    def lock_is_free(self) -> bool:
        try:
            with self.lock.open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return True
        except BlockingIOError:
            return False
        return True

    def journals(self) -> list[Path]:
        """The journal of the namespace, if there is one."""
        return sorted(RUN.glob(f"tune-{self.inode}-*.journal"))

    def settled_journal(self) -> None:
        """Wait until there is no journal."""
        until(lambda: not self.journals())

    def remove(self) -> None:
        for channel in self.channels:
            if channel.process.poll() is None:
                channel.process.kill()
                channel.process.wait(timeout=30)
            channel.process.stdout.close()
            channel.process.stderr.close()
            with contextlib.suppress(BrokenPipeError):
                channel.process.stdin.close()
        try:
            self.settled()
        finally:
            self._thread.shutdown()
            for path in RUN.glob(f"tune-{self.inode}[-.]*"):
                path.unlink()
            subprocess.run(["ip", "netns", "del", self.name], check=True)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`gensink tune` alone, static, as a host without compiler gets it."""
    return compile_program("tune_program.c", tmp_path_factory.mktemp("tune") / "tune", "-static")


FAULTY = (
    *("open", "openat", "ioctl", "read", "pread", "write", "fsync", "socket", "ftruncate"),
    *("unlinkat", "renameat", "fork", "pipe2", "malloc", "realloc"),
)
"""Calls that tune_faulty.c wraps."""


@pytest.fixture(scope="session")
def faulty_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with system calls that fail on demand."""
    wraps = [f"-Wl,--wrap={name}" for name in FAULTY]
    to = tmp_path_factory.mktemp("faulty") / "tune"
    return compile_program("tune_faulty.c", to, "-static", *wraps)


@pytest.fixture(scope="session")
def privileged() -> None:
    """These tests make network namespaces."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.fail("the tests of tuning need root and iproute2: they work in network namespaces")


class PretendedMachine:
    """A directory that stands for files of the machine's own; empty at the start of a test.

    Attributes
    ----------
    NAMED : dict of str to str
        Macro of the C sources -> path below the directory.
    """

    NAMED: ClassVar[dict[str, str]] = {}

    def __init__(self, root: Path):
        self.root = root
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)

    def write(self, name: str, text: str) -> None:
        """Write a line to a file below the directory."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")

    def given_to(self, namespace: Namespace) -> None:
        """Called with the namespace that is to use it."""


@pytest.fixture(scope="module")
def pretending(request, tmp_path_factory) -> tuple[Path, Path]:
    """`gensink tune` that takes files below a directory for the machine's, and the directory."""
    where = tmp_path_factory.mktemp("pretended")
    root, kind = where / "machine", request.module.Machine
    flags = [f'-D{macro}="{root / name}"' for macro, name in kind.NAMED.items()]
    return compile_program("tune_program.c", where / "tune", *flags), root


@pytest.fixture
def machine(request, pretending) -> PretendedMachine:
    """The module's ``Machine``, made anew."""
    return request.module.Machine(pretending[1])


@pytest.fixture
def pretended(privileged, pretending, machine) -> Iterator[Namespace]:
    """A namespace whose `gensink tune` takes the machine's files for the real ones."""
    made = Namespace(pretending[0])
    machine.given_to(made)
    yield made
    made.remove()


SACK = "knob=sysctl name=net.ipv4.tcp_sack"
RMEM = "knob=sysctl name=net.ipv4.tcp_rmem"
MTU = "knob=mtu interface=v0"


def applied(channel: ProcessChannel, change: str) -> dict[str, Any]:
    """Make a change; the answer."""
    answer = channel.ask(f"set {change}")
    assert (answer["event"], answer["status"]) == ("set", "applied"), answer
    return answer


def begun(namespace: Namespace, *changes: str, options: Iterable[str] = ()) -> ProcessChannel:
    """A tuning process that has begun a session and made these changes."""
    channel = namespace.tune(*options)
    assert channel.ask("begin") == {"event": "begun"}
    for change in changes:
        applied(channel, change)
    return channel


def statuses(answers: list[dict[str, Any]]) -> list[str]:
    """What became of each knob; the last answer is the total."""
    return [answer["status"] for answer in answers[:-1]]


@pytest.fixture
def make_namespace(privileged, program) -> Iterator[Callable[[], Namespace]]:
    made: list[Namespace] = []

    def make() -> Namespace:
        made.append(Namespace(program))
        return made[-1]

    yield make
    for namespace in made:
        namespace.remove()


@pytest.fixture
def namespace(make_namespace) -> Namespace:
    return make_namespace()
