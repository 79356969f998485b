"""Hosts with a listening sshd each and a controller, in network namespaces of their own.

The data path goes through a bridge in a fourth namespace, which drops packets above its MTU."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import pandas as pd
from forked_controller import Controller, start_controller
from waiting import until

from netlab.measure.flags import LATE_WATCH
from netlab.results.store import Store

Addresses = dict[str, tuple[str, str, str]]
"""Of each host: its management address, the controller's, and its data address."""
ADDRESSES: Addresses = {
    "a": ("192.0.2.2", "192.0.2.1", "198.18.0.1"),
    "b": ("192.0.2.6", "192.0.2.5", "198.18.0.2"),
}
ADDRESSES_6: Addresses = {
    "a": ("2001:db8:1::2", "2001:db8:1::1", "2001:2::1"),
    "b": ("2001:db8:1::6", "2001:db8:1::5", "2001:2::2"),
}
PAGE = Path(__file__).resolve().parents[3] / "docs" / "promises.md"
ROW = re.compile(r"\| (?P<fault>[^|]+) \| (?P<exit>-?\d+) \| (?:`(?P<sentence>[^`]+)`)? ?\|")
Started = subprocess.Popen[str] | Controller
_counter = itertools.count()
LIVE = re.compile(
    r"nf_conntrack_count|fastopen_key|random|stable_secret|^(fs|kernel|vm|dev|debug)\."
)

SSHD = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
CONFIG = """\
ListenAddress {address}
HostKey {state}/{name}/host_key
AuthorizedKeysFile {state}/{name}/authorized_keys
SetEnv XDG_CACHE_HOME={state}/{name}/cache HOME={state}/{name}
PermitRootLogin prohibit-password
PasswordAuthentication no
StrictModes no
UsePAM no
UseDNS no
PidFile none
MaxSessions 64
"""

STUDY = """\
netlab: 1
name: faulty
title: A study that meets faults
hosts:
  a: {{kind: ssh, address: {a[0]}, user: root, identity_file: {state}/key}}
  b: {{kind: ssh, address: {b[0]}, user: root, identity_file: {state}/key}}
paths:
  cable:
    ends:
      - {{host: a, address: {a[2]}, interface: data0}}
      - {{host: b, address: {b[2]}, interface: data0}}
groups: [{{name: only, path: cable, sender: a}}]
tunings:
  - name: big
    mtus_B: [9000]
    knobs: [{{kind: sysctl, name: net.ipv4.tcp_sack, value: 0}}]
streams: [1]
socket: {{pacing_MBps: 50}}
noise: {{steal_percent: 100, foreign_cpu_percent: 100, retries: 0, wait: 0}}
"""
SECONDS = 3.0
"""Window of a run: time to do harm in it."""
SENT_B = 2_500_000
"""Bytes from which on a run is under way."""


def run(*argv: object, check: bool = True) -> str:
    words = [str(word) for word in argv]
    return subprocess.run(words, capture_output=True, text=True, check=check).stdout


def disturbed(code: int, complaint: str) -> bool:
    """True if no run failed, and one was flagged because other programs took its CPUs.

    A thread that waits for a CPU stalls its stream, too, for less time than any fault does.
    """
    signs = rf"foreign CPU load|no byte for [0-2]\.|{LATE_WATCH}"
    return code == 4 and re.search(signs, complaint) is not None


class Site:
    """The controller, the hosts a and b, their links, and the study of both, in a directory."""

    def __init__(self, state: Path, addresses: Addresses = ADDRESSES, study: str = STUDY):
        self.addresses = addresses
        self.state, self.study = state, state / "faulty.yml"
        tag = f"nf{os.getpid()}-{next(_counter)}"
        self.namespaces = {name: f"{tag}-{name}" for name in ("ctl", "mid", *addresses)}
        self.servers: dict[str, subprocess.Popen[bytes]] = {}
        self.controllers: list[Started] = []
        self.study.write_text(study.format(state=state, **addresses))

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as undo:
            undo.callback(self.down)
            self.up()
            undo.pop_all()
        return self

    def __exit__(self, *_error: object) -> None:
        self.down()

    def up(self) -> None:
        self.make_controller()
        run("ip", "netns", "add", self.namespaces["mid"])
        self.ip("mid", "link set lo up")
        self.ip("mid", "link add bridge type bridge")
        self.ip("mid", "link set bridge up")
        known, middle = [], self.namespaces["mid"]
        for name, (_, _, data) in self.addresses.items():
            known.append(self.make_host(name))
            self.ip(name, f"link add data0 type veth peer name to-{name} netns {middle}")
            self.ip("mid", f"link set to-{name} mtu 16000 master bridge up")
            self.give(name, "data0", data, host_bits=8)
            self.ip(name, "link set data0 addrgenmode none up")
        (self.state / "home" / ".ssh" / "known_hosts").write_text("".join(known))

    def make_controller(self) -> None:
        """Make the controller and its user's key."""
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.state / "key")
        (self.state / "home" / ".ssh").mkdir(parents=True, mode=0o700)
        run("ip", "netns", "add", self.namespaces["ctl"])
        self.ip("ctl", "link set lo up")

    def make_host(self, name: str) -> str:
        """Make a host that the controller reaches; the line of known_hosts."""
        address, controller, _ = self.addresses[name]
        inside = self.namespaces[name]
        run("ip", "netns", "add", inside)
        self.ip(name, "link set lo up")
        self.ip("ctl", f"link add to-{name} type veth peer name mgmt netns {inside}")
        self.give("ctl", f"to-{name}", controller, host_bits=2)
        self.ip("ctl", f"link set to-{name} up")
        self.give(name, "mgmt", address, host_bits=2)
        self.ip(name, "link set mgmt addrgenmode none up")
        (self.state / name).mkdir()
        key = self.state / name / "host_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key)
        self.wrap(name)
        config = self.state / name / "sshd_config"
        config.write_text(CONFIG.format(address=address, state=self.state, name=name))
        self.serve(name)
        return f"{address} {key.with_suffix('.pub').read_text()}"

    def serve(self, name: str, prefix: str = "exec") -> None:
        """Start the host's sshd in place of the present one, and wait until it listens.

        `ip netns exec` gives it a mount namespace of its own, which a prefix may change.
        """
        if name in self.servers:
            self.servers[name].kill()
            self.servers[name].wait()
            until(lambda: ":22 " not in run(*self.inside(name, "ss", "-Htln")))
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # gone after a lab that had made it
        config, log = self.state / name / "sshd_config", self.state / name / "sshd.log"
        sshd = f"{prefix} {SSHD} -D -f {config} -E {log}"
        self.servers[name] = subprocess.Popen(self.inside(name, "sh", "-c", sshd))
        until(lambda: ":22 " in run(*self.inside(name, "ss", "-Htln")))

    def wrap(self, name: str, setting: str = "") -> None:
        """Run each command of a host's SSH sessions after a setting; without one, as it is."""
        key = (self.state / "key.pub").read_text()
        wrapper, options = self.state / name / "wrapper", ""
        if setting:
            wrapper.write_text(f'{setting}\neval "$SSH_ORIGINAL_COMMAND"\n')
            options = f'command="sh {wrapper}" '
        (self.state / name / "authorized_keys").write_text(options + key)

    def inside(self, name: str, *argv: str) -> list[str]:
        return ["ip", "netns", "exec", self.namespaces[name], *argv]

    def ip(self, name: str, words: str) -> None:
        run("ip", "-n", self.namespaces[name], *words.split())

    def give(self, name: str, interface: str, address: str, host_bits: int) -> None:
        bits, more = (128, "nodad") if ":" in address else (32, "")
        self.ip(name, f"addr add {address}/{bits - host_bits} dev {interface} {more}")

    # --- the controller ---

    def start(self, *words: str, prefix: str = "") -> Started:
        """Start netlab on the controller; after a shell's words, in a new interpreter."""
        place = {"home": self.state / "home", "cwd": self.state}
        process: Started
        if prefix:
            netlab = [sys.executable, "-m", "netlab", *words]
            argv = self.inside("ctl", "sh", "-c", f'{prefix} "$@"', "sh", *netlab)
            process = start_controller(argv, **place)
        else:
            process = Controller(words, **place, namespace=self.namespaces["ctl"])
        self.controllers.append(process)
        return process

    def measure(self, *, seconds: float = SECONDS, prefix: str = "") -> Started:
        results = ("--results", str(self.results))
        options = ("--rounds", "1", "--seconds", f"{seconds:g}")
        return self.start("run", str(self.study), *results, *options, prefix=prefix)

    def check(self, timeout_s: float = 300) -> tuple[int, str]:
        """Exit code and output of `netlab check`."""
        process = self.start("check", str(self.study))
        out, complaint = process.communicate(timeout=timeout_s)
        return process.returncode, out + complaint

    def finished(self, process: Started, timeout_s: float = 150) -> tuple[int, str]:
        _, complaint = process.communicate(timeout=timeout_s)
        return process.returncode, complaint

    def completed(self, seconds: float = SECONDS) -> None:
        """Run the study to its end; other work on this machine may flag its run."""
        code, complaint = self.finished(self.measure(seconds=seconds))
        assert code == 0 or disturbed(code, complaint), complaint

    # --- the hosts ---

    def pids(self, name: str) -> list[int]:
        """Processes in a namespace; read here, since waits poll it and the CPUs are busy."""
        wanted = os.stat(f"/run/netns/{self.namespaces[name]}")
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and os.path.samestat(os.stat(entry / "ns/net"), wanted):
                    found.append(int(entry.name))
        return found

    def processes(self, name: str, what: str = "") -> list[int]:
        """Processes of netlab on a host whose command line contains the text."""
        found = []
        for pid in self.pids(name):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                comm = Path(f"/proc/{pid}/comm").read_text().strip()
                if words and "sshd" not in words and what in f"{comm}: {words}":
                    found.append(pid)
        return found

    def only(self, name: str, what: str) -> int:
        """The one process of a kind, once it is there: agent, tune or guard."""
        pattern = {"agent": " agent ", "tune": " tune ", "guard": "netlab-guard: "}[what]

        def found() -> list[int]:
            guards = self.processes(name, "netlab-guard: ") if what == "tune" else ()
            pids = [*{*self.processes(name, pattern)} - {*guards}]
            return pids if len(pids) == 1 else []

        return until(found, 40)[0]  # a second look could be after the end of one that reads

    def kill(self, name: str, *kinds: str) -> None:
        """Kill processes of a host so that none can act on another's death."""
        pids = [self.harm(name, kind, signal.SIGSTOP) for kind in kinds]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    def harm(self, name: str, kind: str, number: int) -> int:
        """Signal a process of a host; its id."""
        pid = self.only(name, kind)
        os.kill(pid, number)
        return pid

    def signal_controller(self, number: int) -> None:
        """Signal netlab and the kernels of its notebooks, as a machine that stops."""
        for pid in run("ip", "netns", "pids", self.namespaces["ctl"]).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), number)

    def sending(self) -> bool:
        """True if data flow from a to b."""
        return self.sent_B() > SENT_B

    def sent_B(self) -> int:
        """Bytes that a has sent on its data interface."""
        devices = Path(f"/proc/{self.servers['a'].pid}/net/dev").read_text()
        return int(devices.partition("data0:")[2].split()[8])

    def find(self, *names: str) -> None:
        """Take management links up, and wait until the controller has found the hosts again."""
        for name in names:
            self.ip(name, "link set mgmt up")
        for name in names:
            ping = self.inside("ctl", "ping", "-c", "1", "-W", "1", self.addresses[name][0])
            until(lambda ping=ping: "1 received" in run(*ping, check=False))

    def dump(self) -> dict[str, str]:
        seen = {}
        for name in self.addresses:
            lines = run(*self.inside(name, "sysctl", "-a"), check=False).splitlines()
            # congestion controls are the whole machine's, and another test may have loaded some
            kept = (re.sub(r" nl_\w+", "", line) for line in lines if not LIVE.search(line))
            seen[f"{name} sysctl"] = "\n".join(kept)
            script = (
                "ip -d link | sed 's/ state [A-Z]*//;s/,LOWER_UP//;s/NO-CARRIER,//'; ip -o addr"
                " | sed 's/valid_lft.*//'; tc qdisc; for i in mgmt data0; do ethtool -k $i;"
                " cat /sys/class/net/$i/gro_flush_timeout; done; (ip route; ip -6 route)"
                " | sed 's/ linkdown//'"
            )
            seen[f"{name} rest"] = run(*self.inside(name, "sh", "-c", script), check=False)
        return seen

    def journals(self) -> list[Path]:
        # a host may be a virtual machine
        names = [self.namespaces[name] for name in self.addresses if name in self.namespaces]
        inodes = [os.stat(f"/run/netns/{name}").st_ino for name in names]
        return [p for inode in inodes for p in Path("/run/netlab").glob(f"tune-{inode}-*.journal")]

    def down(self) -> None:
        for process in self.controllers:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
            process.stderr.close()
        for server in self.servers.values():
            server.kill()
            server.wait()
        for namespace in self.namespaces.values():
            for pid in run("ip", "netns", "pids", namespace, check=False).split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            run("ip", "netns", "del", namespace, check=False)

    # --- the results ---

    @property
    def results(self) -> Path:
        return self.state / "results"

    def rows(self) -> pd.DataFrame:
        return Store(self.results).runs()

    def tables(self) -> dict[str, bytes]:
        """Content of every Parquet file of the results."""
        files = sorted(self.results.rglob("*.parquet"))
        return {str(path.relative_to(self.results)): path.read_bytes() for path in files}


def resumed(site: Site, tables: dict[str, bytes]) -> None:
    """The same command completes: its one run is complete, and the records of before are there.

    Nothing harms its run, so it is a short one.
    """
    site.completed(seconds=1.5)
    (row,) = site.rows().itertuples()
    assert row.ledger_error_B == 0 and row.window_s > 1, (row.run_id, row.flags, row.message)
    unchanged(site, tables)


def unchanged(site: Site, tables: dict[str, bytes]) -> None:
    """Every record of before is there."""
    now = site.tables()
    for name, content in tables.items():
        assert now[name] == content, name


def promised(heading: str) -> dict[str, tuple[int, str]]:
    """Exit code and sentence of each fault of one section's table."""
    sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (section,) = (text for text in sections if text.startswith(f"{heading}\n"))
    return {
        match["fault"]: (int(match["exit"]), match["sentence"] or "")
        for line in section.splitlines()
        if (match := ROW.fullmatch(line))
    }
