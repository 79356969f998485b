"""A network namespace of one's own, and `gensink tune` inside it."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import json
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from native.emulated import run
from native.spoken_agent import Agent
from waiting import until

RUN = Path("/run/netlab")
"""Locks and journals of root."""
_counter = itertools.count()


class ProcessChannel(Agent):
    """The channel of a local process, whose group is its own."""

    def __init__(self, argv: list[str], **options: object):
        super().__init__(*argv, start_new_session=True, **options)

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
        """The child of the tune process that is not modprobe."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        names = {int(child): Path(f"/proc/{child}/comm").read_text() for child in children}
        (guard,) = (child for child, name in names.items() if name != "modprobe\n")
        return guard

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

    def __init__(self, *program: str | Path):
        self.name = f"nlt-{os.getpid()}-{next(_counter)}"
        self.program = program
        self.prefix: tuple[str, ...] = ()
        self.channels: list[ProcessChannel] = []
        run("ip", "netns", "add", self.name)
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
        return run("ip", "netns", "exec", self.name, "sh", "-ec", script)

    def sysctl(self, name: str, value: str | None = None) -> str:
        if value is not None:
            self.sh(f"sysctl -qw {name}='{value}'")
        return " ".join(self.sh(f"sysctl -n {name}").split())

    def writable(self, name: str) -> bool:
        """True if the namespace has a sysctl that can be set in it."""
        path = name.translate(str.maketrans("./", "/."))
        return self.sh(f"stat -c %A /proc/sys/{path} 2>/dev/null || true")[2:3] == "w"

    def link(self, kind: str, value: int | None = None, interface: str = "v0") -> int:
        """A field of ip(8) of an interface, after it is set."""
        if value is not None:
            self.sh(f"ip link set dev {interface} {kind} {value}")
        (shown,) = json.loads(self.sh(f"ip -j link show dev {interface}"))
        return shown["txqlen" if kind == "txqueuelen" else kind]

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
        return [*enter, *map(str, (*self.prefix, *self.program)), *options]

    def tune(self, *options: str, ready: bool = True, **process: object):
        """A ready `gensink tune` in here."""
        channel = ProcessChannel(self.argv(*options), **process)
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
            run("ip", "netns", "del", self.name)


@pytest.fixture(scope="session")
def tune_build(build: Callable[..., Path]) -> Path:
    """`gensink tune` with other system calls or files; see tests/native/CMakeLists.txt."""
    targets = ("tune_faulty", "tune_pretending", "tune_coupled")
    return build("tune", "-DNL_TESTS=ON", targets=targets) / "tests"


class PretendedMachine:
    """A directory that stands for files of the machine's own."""

    def __init__(self, root: Path):
        self.root = root
        root.mkdir()

    def write(self, name: str, text: str) -> None:
        """Write a line to a file below the directory."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


@pytest.fixture
def machine(request, tmp_path) -> PretendedMachine:
    """The module's ``Machine``, or an empty one."""
    return getattr(request.module, "Machine", PretendedMachine)(tmp_path / "machine")


@pytest.fixture
def pretended(tune_build, machine) -> Iterator[Namespace]:
    """A namespace whose `gensink tune` takes the machine's files for the real ones."""
    made = Namespace(tune_build / "tune_pretending")
    mount = 'mount --bind "$0" /mnt && exec "$@"'
    made.prefix = ("unshare", "--mount", "sh", "-c", mount, str(machine.root))
    ifindex = made.sh("cat /sys/class/net/v0/ifindex").strip()
    machine.write("net/v0/ifindex", ifindex)
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


def recorded(channel: ProcessChannel) -> None:
    """A change that the kernel refuses; before it the state of the host is recorded."""
    answer = channel.ask(f"set {MTU} value=99999")
    assert (answer["event"], answer["status"]) == ("set", "refused"), answer


def on_own_disk(options: str) -> tuple[str, ...]:
    """Words before a command that give it a tmpfs for its locks and journals."""
    mount = f"mkdir -p {RUN} && mount -t tmpfs -o {options} tmpfs {RUN}"
    return ("unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh")


def statuses(answers: list[dict[str, Any]]) -> list[str]:
    """What became of each knob; the last answer is the total."""
    return [answer["status"] for answer in answers[:-1]]


@pytest.fixture
def make_namespace(gensink) -> Iterator[Callable[[], Namespace]]:
    made: list[Namespace] = []

    def make() -> Namespace:
        made.append(Namespace(gensink, "tune"))
        return made[-1]

    yield make
    for namespace in made:
        namespace.remove()


@pytest.fixture
def namespace(make_namespace) -> Namespace:
    return make_namespace()


@pytest.fixture
def host(namespace) -> Iterator[Namespace]:
    """The namespace, in which no session may leave a change or a journal."""
    before = namespace.dump()
    yield namespace
    namespace.settled()
    assert namespace.dump() == before and namespace.journals() == []


SIZES = {"gso_max_size": 41, "gro_max_size": 58, "gso_ipv4_max_size": 63, "gro_ipv4_max_size": 64}
"""GSO and GRO maxima, as IFLA_... of linux/if_link.h; ip(8) of Debian 12 does not know them all."""

GETLINK, SETLINK, ERROR = 18, 19, 2
REQUEST, ACK = 1, 4


def _asked(kind: int, flags: int, index: int, attributes: bytes = b"") -> bytes:
    """Content of the answer after its header; OSError if the kernel refuses."""
    body = struct.pack("=BxHiII", 0, 0, index, 0, 0) + attributes
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as sock:
        sock.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
        answer = sock.recv(65536)
    (_, found) = struct.unpack_from("=IH", answer)
    if found == ERROR and (code := struct.unpack_from("=i", answer, 16)[0]):
        raise OSError(-code, os.strerror(-code))
    return answer[16:]


def read_sizes(interface: str) -> dict[str, int]:
    """Every size that this kernel has."""
    answer = _asked(GETLINK, REQUEST, socket.if_nametoindex(interface))
    found, at = {}, 16
    while at + 4 <= len(answer):
        length, kind = struct.unpack_from("=HH", answer, at)
        if kind in SIZES.values():
            found[kind] = struct.unpack_from("=I", answer, at + 4)[0]
        at += (length + 3) & ~3
    return {name: found[kind] for name, kind in SIZES.items() if kind in found}


def write_size(interface: str, name: str, value: int) -> None:
    """Set one size."""
    attribute = struct.pack("=HHI", 8, SIZES[name], value)
    _asked(SETLINK, REQUEST | ACK, socket.if_nametoindex(interface), attribute)


STATE = (
    "ip -o link | sed 's/ state [A-Z]*//'; ip -o -4 addr; ip -o -6 addr | sed 's/ tentative//';"
    "ip -4 route show table all; "
    "ip -6 route show table all | grep -v -e 'table local' -e '^multicast';"
    "ip -d neigh show nud permanent; ip -d neigh show proxy;"
    "ip rule; tc qdisc | sed 's/ 8[0-9a-f]*:/ :/g';"
    "sysctl -a 2>/dev/null | grep '^net[.]' | grep -v -e conntrack_count -e fastopen_key"
    " -e stable_secret -e available -e '[.]mtu_expires' | sed 's/ nl_[a-z0-9_]*//g';"
    "cd /sys/class/net; grep -r . [!l]*/queues/*/[rx]ps_* 2>/dev/null | sort;"
    "ip -o -d link | sed -n 's/^[0-9]*: \\([^:]*\\):.*\\(numtxqueues.*\\)/\\1 \\2/p'; bridge link;"
    "for i in *; do ethtool -k $i; ethtool -l $i 2>/dev/null || true; grep . $i/gro_flush_timeout"
    " $i/napi_defer_hard_irqs $i/threaded || true; done"
)


def state(namespace: Namespace) -> str:
    """The network configuration of a namespace, by other programs than netlab."""
    return namespace.sh(STATE)


@pytest.fixture
def busy(namespace) -> Namespace:
    """A host with addresses, routes that have an MTU, and interfaces above its own."""
    namespace.sh(
        "ip link set v1 mtu 9000; ip link set v0 mtu 9000;"
        "ip addr add 10.9.0.1/24 dev v0; ip -6 addr add fd09::1/64 dev v0 nodad;"
        "ip route add 10.10.0.0/16 via 10.9.0.2 mtu 8000;"
        "ip route add 10.11.0.0/16 dev v0 mtu lock 1400;"
        "ip -6 route add fd10::/64 via fd09::2 mtu 8000; "
        "ip -6 route add fd11::/64 dev v0 mtu 2000;"
        "ip -6 route add default via fd09::2 metric 7;"
        "ip link add m0 link v0 type macvlan mode bridge; ip link set m0 mtu 9000 up;"
        "ip link add br0 type bridge; ip link add w0 type veth peer name w1;"
        "ip link set w0 master br0 mtu 9000; ip link set br0 up; ip link set w0 up;"
        "ip addr add 10.12.0.1/24 dev m0; ip -6 addr add fd12::1/64 dev m0 nodad;"
        "ip -6 route add fd13::/64 dev m0 mtu 7000;"
        "ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent;"
        "ip neigh add fd09::2 lladdr 02:00:00:00:00:02 dev v0 nud permanent protocol static;"
        "sysctl -qw net.ipv6.conf.v0.mtu=8500 net.ipv6.conf.v0.hop_limit=33"
    )
    time.sleep(0.1)
    return namespace


@pytest.fixture
def hardened(busy) -> Namespace:
    """A busy host with settings of other programs: of all interfaces, of one, and of queues."""
    busy.sh(
        "ethtool -L v0 rx 2 tx 2; cd /sys/class/net/v0/queues; for q in 0 1; do "
        "echo 1 > rx-$q/rps_cpus; echo 64 > rx-$q/rps_flow_cnt; echo 1 > tx-$q/xps_cpus; done"
    )
    busy.sh(
        "sysctl -qw net.ipv4.conf.all.accept_redirects=0 net.ipv4.conf.all.secure_redirects=0"
        " net.ipv4.conf.all.rp_filter=2 net.ipv4.conf.default.rp_filter=1"
        " net.ipv4.conf.v0.forwarding=1 net.ipv4.conf.m0.forwarding=0 net.ipv4.conf.v0.rp_filter=0"
        " net.ipv6.conf.all.accept_redirects=0 net.ipv6.conf.v0.accept_ra=0"
        " net.ipv6.conf.v0.mtu=8500 net.ipv4.neigh.v0.unres_qlen=77"
        " net.ipv6.neigh.v0.unres_qlen_bytes=50003"
        " net.ipv4.tcp_rmem='5000 90000 7000000' net.ipv4.tcp_mtu_probing=1"
    )
    time.sleep(0.1)
    return busy


def ended(channel: ProcessChannel) -> list[dict]:
    """Revert and end; the differences of the host that remain."""
    answers = channel.ask_all("revert", "reverted_all")
    assert channel.ask_all("end", "ended")[-1]["failed"] == 0
    assert channel.close() == 0
    return [answer for answer in answers if answer["event"] == "unrestored"]
