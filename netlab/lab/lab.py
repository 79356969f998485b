"""The lab: a study's hosts as network namespaces of this machine, joined by links.

Everything is created inside the namespaces. All names follow from the id of the lab, so that it
can be removed even if the process that created it crashed.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from netlab.errors import BadInput, HostError, Unsupported
from netlab.files.bounded_json import read_json
from netlab.files.uncut import interrupts_wait
from netlab.hosts.path import together
from netlab.hosts.ssh import SshHost
from netlab.lab import emulator, link, namespaces, reaper, sshd, switch
from netlab.lab.namespaces import entry, inside, ip, shielded, tc, tool
from netlab.lab.reaper import SEARCH_PATH
from netlab.lab.topology import LabPath, Topology, topology
from netlab.study import Study, flows

# Create the parts of a lab: namespaces, keys, links and their settings.

MADE_AT_ONCE = 4
# In a namespace only an allowed algorithm can be the default; the last one always is.
CONGESTION = ("cubic", "reno")
SET_CONGESTION = r"""
for name do
  if echo "$name" > /proc/sys/net/ipv4/tcp_congestion_control; then exit 0; fi
done 2>/dev/null
exit 1
"""


# The kernel gives no socket one of the ports by which an emulator knows a flow.
FLOW_PORTS = f"{flows.PORTS.start}-{flows.PORTS.stop - 1}"
RESERVE_PORTS = 'echo "$1" > /proc/sys/net/ipv4/ip_local_reserved_ports'


def make(state: Path, plan: Topology, busy: int) -> None:
    lab_id = state.name
    names = {host: f"{reaper.PREFIX}{lab_id}-{host}" for host in plan.hosts}
    sshd.make_task_group(state, len(plan.hosts))
    if namespaces.rootless():
        namespaces.hold_namespaces(state, busy)
    switched = [path.name for path in plan.paths if path.also]
    switches = {path: switch.namespace(lab_id, at) for at, path in enumerate(switched)}
    added = [
        partial(tool, (*entry(name), "ip", "netns", "add", name), busy=busy)
        for name in (*names.values(), *switches.values())
    ]
    _all(partial(sshd.prepare, state, plan.hosts, busy), *added)
    for path in plan.paths:
        first, second = path.ends
        if path.emulator is not None:
            here = (names[first.host], first.interface)
            peer = (names[second.host], second.interface)
            if path.also:
                here = switch.make(path, switches[path.name], names, busy)
            emulator.start(state, path.name, (here, peer), path.emulator)
            continue
        tool(pair_argv(path, names), host=first.host, busy=busy)
    ipv6 = os.path.isdir("/proc/sys/net/ipv6")
    for path in plan.paths:
        if path.also:
            switch.set_up(path, switches[path.name], ipv6=ipv6, busy=busy)

    def set_up(host: str) -> None:
        for argv, lines in set_up_commands(host, names[host], plan, ipv6=ipv6):
            tool(argv, lines=lines, host=host, busy=busy)

    _all(*(partial(set_up, host) for host in plan.hosts))
    waits: list[Callable[[], None]] = []
    # after all are set up: a link is up when both of its ends are
    for host in plan.hosts:
        interfaces = [end.interface for end, _ in plan.ends(host)]
        waits.append(partial(link.wait_until_up, names[host], interfaces, host=host, busy=busy))
    _all(*waits)


def _all(*calls: Callable[[], object]) -> None:
    for done in together(calls, at_once=MADE_AT_ONCE):
        done.result()


def pair_argv(path: LabPath, names: dict[str, str]) -> tuple[str, ...]:
    first, second = path.ends
    words = path.settings.add_words
    # created in the hosts' namespaces: the machine's own never has the pair
    line = (
        f"link add {first.interface}{words} type veth "
        f"peer name {second.interface} netns {names[second.host]}{words}"
    )
    return ip(names[first.host], *line.split())


def set_up_commands(
    host: str, namespace: str, plan: Topology, *, ipv6: bool
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    ends = plan.ends(host)
    yield inside(namespace, ("sh", "-c", SET_CONGESTION, "set", *CONGESTION)), []
    if any(path.knows_flows for path in plan.paths):
        yield inside(namespace, ("sh", "-c", RESERVE_PORTS, "reserve", FLOW_PORTS)), []
    lines = ["link set dev lo up"]
    for end, settings in ends:
        argv = settings.settings_argv(end.interface, reserved=not namespaces.rootless())
        yield inside(namespace, argv), []
        lines += [*settings.ip_lines(end.interface), *end.ip_lines(ipv6=ipv6)]
    for path in plan.paths:
        lines += switch.ip_lines(path, host, ipv6=ipv6)
    yield ip(namespace, "-batch", "-"), lines
    if shapes := plan.tc_lines(host):
        yield tc(namespace, "-batch", "-"), shapes


# Removal of a lab whose process dies.


class Guard:
    def __init__(self, lab_id: str, token: str):
        owner = os.pidfd_open(os.getpid())
        try:
            self._process = subprocess.Popen(
                (sys.executable, "-I", "-S", reaper.__file__, lab_id, token, str(owner)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,
                pass_fds=(owner,),
            )
        finally:
            os.close(owner)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        if self._stdout.readline() != b"ready\n":
            self._process.kill()
            self._process.communicate()
            message = "the process that cleans up after a crash did not start"
            raise HostError("lab", message, code="E-LAB-014")

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._stdin.write(b"release\n")
            self._stdin.close()
        self._process.wait()
        self._stdout.close()


LAB_ID = re.compile(r"^[0-9a-z]{1,8}$")
STATE_FILE = "lab.json"
ROOTS = Path("/run/netlab")
"""Stands for the state of root's labs, which others cannot read."""


class Lab:
    """A lab that is up, from :meth:`up` or :func:`find`; removed at the end of its context."""

    def __init__(self, state: Path):
        self.state = state
        self.id = state.name
        content = _read(state)
        self.study: str | None = content.get("study")
        self.complete: bool = content.get("complete", False)
        self.made_at: str | None = content.get("made_at")
        self.owner_pid: int | None = content.get("owner_pid")
        self.topology: Topology = content.get("topology", Topology(hosts=(), paths=()))
        self._guard: Guard | None = None

    @classmethod
    def up(cls, study: Study, *, lab_id: str | None = None, owned: bool = False) -> Lab:
        check_rights()
        plan = topology(study)
        delays = {path.settings.interrupt_delay_ns for path in plan.paths if path.settings.card}
        if namespaces.rootless() and len(delays) > 1:
            message = (
                "the study compares values of interrupt_delay_us, which only root of the machine "
                "can set: run netlab with sudo"
            )
            raise Unsupported(message, code="E-LAB-032")
        if lab_id is not None and not LAB_ID.fullmatch(lab_id):
            message = "a lab id has one to eight lower-case letters or digits"
            raise BadInput(message, value=lab_id, code="E-LAB-006")
        if any(path.emulator is not None for path in plan.paths):
            emulator.check()
        check(
            shaped=any(path.settings.rate_bps is not None for path in plan.paths),
            queues=max((path.settings.queues for path in plan.paths), default=1),
        )
        lab_id = lab_id or secrets.token_hex(3)
        token = secrets.token_hex(8)
        guard = None
        try:
            # the guard starts first, so that the lab never exists without it
            guard = Guard(lab_id, token)
            state = reaper.reserve(lab_id, token)
            if state is None:
                raise BadInput("a lab with this id exists already", value=lab_id, code="E-LAB-007")
            content = {
                "study": study.name,
                "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "owner_pid": os.getpid() if owned else None,
                "complete": False,
                "topology": plan.as_dict(),
            }
            _write(state, content)
            with open(state / reaper.BUSY, "w") as busy:
                fcntl.flock(busy, fcntl.LOCK_EX)
                if os.fstat(busy.fileno()).st_nlink == 0:
                    raise HostError("lab", "was removed while it was created", code="E-LAB-008")
                make(state, plan, busy.fileno())
            _write(state, content | {"complete": True})
        except BaseException as problem:
            with interrupts_wait():
                reaper.remove_own(lab_id, token)
                if guard is not None:
                    guard.release()
            if isinstance(problem, OSError):
                message = f"could not be created: {problem}"
                raise HostError("lab", message, code="E-LAB-009") from problem
            raise
        lab = cls(state)
        if owned:
            lab._guard = guard
        else:
            guard.release()
        return lab

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.down()

    def down(self) -> None:
        """Remove the lab, if it exists. A Ctrl-C is delayed until the end."""
        if self.foreign:
            message = f"lab {self.id} was made by root: remove it with sudo"
            raise Unsupported(message, code="E-LAB-010")
        with interrupts_wait():
            reaper.remove(self.id)
            if self._guard is not None:
                self._guard.release()
                self._guard = None

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.topology.hosts

    def namespace(self, host: str) -> str:
        if host not in self.hosts:
            message = f"lab {self.id} has the hosts {', '.join(self.hosts) or '(none)'}"
            raise BadInput(message, where="hosts", value=host, code="E-LAB-012")
        return f"{reaper.PREFIX}{self.id}-{host}"

    @property
    def foreign(self) -> bool:
        """True if root made it and this user is another, who sees its names only."""
        return self.state.parent != reaper.base()

    @property
    def user_namespace(self) -> bool:
        return namespaces.rootless() and not self.foreign

    @property
    def task_group(self) -> sshd.TaskGroupKind:
        """Task groups of the ends, as :data:`netlab.lab.sshd.TaskGroupKind`."""
        return sshd.task_group_kind(self.state)

    def inside(self, host: str, argv: Sequence[str]) -> tuple[str, ...]:
        return (*sshd.in_task_group(self.state), *inside(self.namespace(host), argv))

    def host(self, name: str) -> SshHost:
        self.namespace(name)  # refuses a host that it does not have
        return SshHost(
            name,
            name,
            user=sshd.login(),
            port=22,
            identity_file=str(self.state / "user_key"),
            proxy_command=sshd.proxy_command(self.state, self.id, name),
            known_hosts=self.state / "known_hosts",
            # ssh refuses a user whom no account lists
            prefix=namespaces.as_account(self.id) if self.user_namespace else (),
        )

    def emulator(self, path: str) -> emulator.LabEmulator:
        emulated = [wire.name for wire in self.topology.paths if wire.emulator is not None]
        if path not in emulated:
            message = f"lab {self.id} has emulators on the paths {', '.join(emulated) or '(none)'}"
            raise BadInput(message, where="paths", value=path, code="E-LAB-011")
        return emulator.LabEmulator(self.state, path)

    def emulated_with(self, path: str) -> str | None:
        """Return the emulator of a path: ``netlab``, ``netem``, or None for a plain cable."""
        return next((p.emulated_with for p in self.topology.paths if p.name == path), None)

    def fits(self, study: Study) -> bool:
        return self.complete and self.topology == topology(study)

    def describe(self) -> dict[str, dict[str, dict]]:
        """Settings of each end as the kernel has them: path name -> host name -> values."""
        return {path.name: self.describe_path(path.name) for path in self.topology.paths}

    def describe_path(self, name: str) -> dict[str, dict]:
        """Settings of each end of a path as the kernel has them: host name -> values."""
        path = next(path for path in self.topology.paths if path.name == name)
        return {
            end.host: link.describe(self.namespace(end.host), end.interface, path.settings)
            for end in path.every_end
        }

    def status(self) -> dict:
        present = set(reaper.namespaces_of(self.id))
        names = {host: self.namespace(host) for host in self.hosts}
        pids = {
            name: len(reaper.processes_in([name])) for name in names.values() if name in present
        }
        return {
            "id": self.id,
            "study": self.study,
            "complete": self.complete and set(names.values()) <= present,
            "made_at": self.made_at,
            "owner_pid": self.owner_pid,
            "task_group": self.task_group,
            "state": str(self.state),
            "hosts": {
                host: {"namespace": name, "up": name in present, "processes": pids.get(name, 0)}
                for host, name in names.items()
            },
            "paths": {
                path.name: {
                    "ends": [
                        {key: getattr(end, key) for key in ("host", "interface")}
                        | {"addresses": list(end.addresses)}
                        for end in path.every_end
                    ],
                    "rate_bps": path.settings.rate_bps,
                    "emulated_with": path.emulated_with,
                }
                for path in self.topology.paths
            },
        }


def labs() -> list[Lab]:
    """Return all labs of this user and of root, incomplete ones included, sorted by id."""
    where = reaper.base()
    directories = set()
    if os.access(where, os.R_OK | os.X_OK):
        directories |= {
            where / entry.name for entry in where.iterdir() if LAB_ID.fullmatch(entry.name)
        }
    if reaper.NAMESPACES.is_dir():
        # a namespace without state is left by a damaged lab, and can still be removed; only root
        # can read the state of root's labs
        for name in os.listdir(reaper.NAMESPACES):
            match = re.match(rf"^{reaper.PREFIX}([0-9a-z]{{1,8}})-", name)
            if match:
                directories.add((where if os.geteuid() == 0 else ROOTS) / match[1])
    return [Lab(state) for state in sorted(directories, key=lambda state: state.name)]


def find(study: Study) -> Lab | None:
    """Return a lab without owner that equals the one `study` needs, or None."""
    for lab in labs():
        if lab.owner_pid is None and lab.fits(study):
            return lab
    return None


def down(lab_id: str | None = None) -> list[str]:
    """Remove one lab, or all without a living owner; return their ids."""
    present = labs()
    if lab_id is None:
        own = [lab for lab in present if not lab.foreign]
        chosen = [lab for lab in own if not os.path.isdir(f"/proc/{lab.owner_pid or 0}")]
    else:
        chosen = [lab for lab in present if lab.id == lab_id]
        if not chosen:
            raise BadInput("no lab has this id", value=lab_id, code="E-LAB-013")
    for lab in chosen:
        lab.down()
    return [lab.id for lab in chosen]


def _read(state: Path) -> dict:
    try:
        content = read_json(state / STATE_FILE)
        return content | {"topology": Topology.from_dict(content["topology"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _write(state: Path, content: dict) -> None:
    partial = state / f"{STATE_FILE}.partial"
    partial.write_text(json.dumps(content, indent=1))
    partial.replace(state / STATE_FILE)


# Requirements of a lab, checked before anything is created.

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
}
USER_PACKAGES = {"nsenter": "util-linux", "hostname": "hostname"}
"""Needed in addition without root."""
NAMELESS = ("unshare", "--net", "--mount", "--uts", "--")

# Runs in nameless namespaces that end with it; prints the name of each missing feature. Arguments:
# tbf or -, most queues of a link, root or user.
PROBE = r"""
mount -t sysfs sysfs /sys || { echo sysfs; exit; }
ip link add nl0 type veth peer name nl1 || { echo veth; exit; }
if [ "$3" = user ]; then hostname host; else echo host > /proc/sys/kernel/hostname; fi ||
  echo hostname
if [ "$1" = tbf ]; then
  tc qdisc add dev nl0 root tbf rate 1gbit burst 131072b limit 1000000b || echo tbf
fi
ethtool -K nl0 gro on tso off gso off tx off rx off || echo offloads
ip link set dev nl0 gro_max_size 100 || echo gro_max_size
if [ "$3" = user ]; then exit; fi
for f in gro_flush_timeout napi_defer_hard_irqs; do
  echo 0 > "/sys/class/net/nl0/$f" || echo "$f"
done
if [ "$2" -gt 1 ]; then
  ip link add nq0 numtxqueues 2 numrxqueues 2 type veth peer name nq1 &&
    echo 1 > /sys/class/net/nq0/queues/tx-0/xps_cpus || echo xps
fi
"""
MEANINGS = {
    "sysfs": "a mount of /sys in a namespace (a container needs --privileged)",
    "veth": "veth pairs (CONFIG_VETH)",
    "hostname": "a hostname per namespace (CONFIG_UTS_NS)",
    "tbf": "the token bucket that models the bus (CONFIG_NET_SCH_TBF)",
    "offloads": "offloads of veth that can be switched (Linux 5.13)",
    "gro_max_size": "gro_max_size (Linux 5.19 and iproute2 5.18)",
    "gro_flush_timeout": "gro_flush_timeout (CONFIG_SYSFS)",
    "napi_defer_hard_irqs": "napi_defer_hard_irqs (Linux 5.8)",
    "xps": "several queues of veth with processors of their own (CONFIG_XPS)",
}


def check_rights() -> None:
    if os.uname().sysname != "Linux":
        message = "the lab needs Linux; on other systems measure hosts over SSH"
        raise Unsupported(message, code="E-LAB-018")
    if not namespaces.rootless():
        return
    done = shielded((*namespaces.nameless(), "true"))
    if done.returncode != 0:
        cause, remedy = refusal(done.stderr.strip())
        message = (
            "the lab makes network namespaces; without root it needs a user namespace, which this "
            f"machine refuses: {cause}. Run netlab with sudo{remedy}"
        )
        raise Unsupported(message, code="E-LAB-019")


def refusal(said: str, sysctls: Path = Path("/proc/sys")) -> tuple[str, str]:
    settings = (
        ("user/max_user_namespaces", "0", "10000"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    )
    for name, forbids, permits in settings:
        try:
            value = (sysctls / name).read_text().strip()
        except OSError:
            continue
        if value == forbids:
            name = name.replace("/", ".", 1)
            return f"{name} is {value}", f", or permit it: sudo sysctl {name}={permits}"
    if not (sysctls / "user/max_user_namespaces").exists():
        return "the kernel has none (CONFIG_USER_NS)", ""
    return f"{said}; a container or its seccomp profile may forbid it", ""


def check(*, shaped: bool, queues: int = 1, search_path: str = SEARCH_PATH) -> None:
    user = namespaces.rootless()
    packages = PACKAGES | (USER_PACKAGES if user else {})
    missing = [name for name in packages if shutil.which(name, path=search_path) is None]
    if missing:
        message = (
            f"the lab needs {', '.join(missing)}, not installed here; install with: "
            f"apt-get install -y {' '.join(sorted({packages[name] for name in missing}))}"
        )
        raise Unsupported(message, code="E-LAB-020")
    words = ("tbf" if shaped else "-", str(queues), "user" if user else "root")
    place = namespaces.nameless() if user else NAMELESS
    done = shielded((*place, "sh", "-c", PROBE, "probe", *words), search_path=search_path)
    lacking = [MEANINGS[word] for word in done.stdout.split() if word in MEANINGS]
    if lacking:
        reported = "; ".join(dict.fromkeys(done.stderr.split("\n"))).strip("; ")
        message = f"the lab needs {'; '.join(lacking)}, which this machine refused: {reported}"
        raise Unsupported(message, code="E-LAB-021")
    if done.returncode != 0 and "unshare" in done.stderr:
        message = "namespaces cannot be made here (a container needs --privileged): "
        raise Unsupported(message + done.stderr.strip(), code="E-LAB-022")


# Limits of a lab made without root, for the records of its runs.

LIMITS = Path("/proc/sys/net/core")
RESERVED = "only root of the machine may set it, and the lab was made without root"


def lab_limits(
    host: str, link: dict, *, sndbuf_B: int = 0, rcvbuf_B: int = 0, limits: Path = LIMITS
) -> list[dict]:
    """Settings of a study that a lab made without root does not have."""
    reasons = {}
    for name, asked_B in (("wmem_max", sndbuf_B), ("rmem_max", rcvbuf_B)):
        limit_B = int((limits / name).read_text())
        if asked_B > limit_B:
            reasons[f"force_buffer beyond net.core.{name}"] = (
                f"a socket gets {limit_B} B instead of {asked_B} B: only root of the machine may "
                "exceed its limits, and the lab was made without root"
            )
    wanted = link.get("wanted", {})
    if wanted.get("interrupt_delay_ns", 0) != link.get("interrupt_delay_ns", 0):
        reasons["interrupt_delay_us"] = RESERVED
    if wanted.get("queues", 1) > 1 and not any(mask.strip("0,") for mask in link["sending_cpus"]):
        reasons["CPUs of each queue (xps_cpus)"] = RESERVED
    return [{"host": host, "knob": knob, "reason": reason} for knob, reason in reasons.items()]
