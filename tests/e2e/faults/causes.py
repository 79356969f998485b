"""Cause of each fault of docs/promises.md: exit code and standard error of the command.

Each cause ends with the site as it was, so that the next run completes."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from e2e.faults.fault_site import ADDRESSES, Site, Started, disturbed, run, until

from netlab import core
from netlab.hosts.agent import packed_sources
from netlab.hosts.host import COPY_TIMEOUT_S

HERE = Path(__file__).parent
GONE_S = 45.0
"""Time for hosts to notice a silent controller, end and revert."""
STOPPED_S = 35.0
"""Longer than agent and tune live without a sign of life, 30 s."""
Result = tuple[int, str]


def under_way(site: Site, **options) -> Started:
    process = site.measure(**options)
    until(site.sending, 60)
    return process


# --- the way to the hosts ---


def unreachable(site: Site, *names: str) -> Result:
    for name in names:
        site.ip(name, "link set mgmt down")
    result = site.finished(site.measure())
    site.find(*names)
    return result


@contextlib.contextmanager
def changed(path: Path, text: str) -> Iterator[None]:
    before = path.read_text()
    path.write_text(text)
    yield
    path.write_text(before)


def unknown_key(site: Site) -> Result:
    known = site.state / "home" / ".ssh" / "known_hosts"
    with changed(known, known.read_text().splitlines(keepends=True)[0]):
        return site.finished(site.measure())


@contextlib.contextmanager
def keyless(site: Site) -> Iterator[None]:
    """The study names no key."""
    with changed(site.study, re.sub(r", identity_file: [^}]*", "", site.study.read_text())):
        yield


def no_key(site: Site) -> Result:
    with keyless(site):
        return site.finished(site.measure(prefix="unset SSH_AUTH_SOCK; exec"))


def agent_locked(site: Site) -> Result:
    """A run under way goes on without the agent; the next login has no key."""
    socket = site.state / "agent"
    ask = site.state / "ask"
    ask.write_text("#!/bin/sh\necho secret\n")
    ask.chmod(0o755)
    asked = {"SSH_ASKPASS": str(ask), "SSH_ASKPASS_REQUIRE": "force"}
    environment = {**os.environ, **asked, "SSH_AUTH_SOCK": str(socket)}
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    prefix = f"export SSH_AUTH_SOCK={socket}; exec"
    with contextlib.ExitStack() as undo:
        undo.callback(agent.wait)
        undo.callback(agent.kill)
        undo.enter_context(keyless(site))
        until(socket.exists)
        run_in = {"env": environment, "check": True, "capture_output": True}
        subprocess.run(["ssh-add", site.state / "key"], **run_in)
        process = under_way(site, prefix=prefix)
        subprocess.run(["ssh-add", "-x"], **run_in)
        code, complaint = site.finished(process)
        assert code == 0 or disturbed(code, complaint), complaint
        return site.finished(site.measure(prefix=prefix))


def cut_off(site: Site, process: Started, *names: str, gone_s: float = GONE_S) -> Result:
    """Cut management links until the command has ended and the hosts have reverted."""
    for name in names:
        site.ip(name, "link set mgmt down")
    result = site.finished(process)
    for name in names:
        until(lambda name=name: not site.processes(name), gone_s)
    site.find(*names)
    return result


def cut_at_push(site: Site) -> Result:
    """While the agent is copied to host b, over a link of 2 Mbit/s."""
    cache, device = site.state / "b" / "cache", ("dev", "to-b", "root")
    slow = ("tbf", "rate", "2mbit", "burst", "10kb", "latency", "1s")
    run("tc", "-n", site.namespaces["ctl"], "qdisc", "add", *device, *slow)
    process = site.measure()
    until(lambda: any(path.stat().st_size for path in cache.rglob("*") if path.is_file()), 60)
    assert not site.processes("b", " agent ")
    result = cut_off(site, process, "b", gone_s=COPY_TIMEOUT_S + 15)
    run("tc", "-n", site.namespaces["ctl"], "qdisc", "del", *device)
    return result


def cut_at_record(site: Site, change: str) -> Result:
    """The moment at which the journal of host b first gets an entry, or first loses one."""
    inode = os.stat(f"/run/netns/{site.namespaces['b']}").st_ino
    stop = subprocess.Popen(
        [sys.executable, HERE / "stop_at_record.py", str(inode), change], stdin=subprocess.PIPE
    )
    process = site.measure()
    until(lambda: site.processes("b", " tune ") or process.poll() is not None, 90)
    tune = site.only("b", "tune")
    stop.communicate(b"%d\n" % tune, timeout=60)
    assert stop.returncode == 0  # no answer leaves the host before its link is down
    site.ip("b", "link set mgmt down")
    os.kill(tune, signal.SIGCONT)
    return cut_off(site, process, "b")


def session_killed(site: Site) -> Result:
    """Kill the sshd of every session of host b."""
    process = under_way(site, seconds=60)
    for pid in site.pids("b"):
        with contextlib.suppress(OSError):  # some processes are short
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
            if words.startswith((b"sshd: root", b"sshd-session: ")):
                os.kill(pid, signal.SIGKILL)
    return site.finished(process)


def links_down_for_5_s(site: Site) -> Result:
    process = under_way(site)
    for state in ("down", "up"):
        for name in ADDRESSES:
            site.ip(name, f"link set mgmt {state}")
        time.sleep(5 if state == "down" else 0)
    return site.finished(process)


def data_link(site: Site, seconds: float) -> Result:
    """Take the data link down; for good, or for some seconds of a run."""
    process = under_way(site)
    site.ip("mid", "link set to-b down")
    time.sleep(seconds)
    result = None if seconds else site.finished(process)
    site.ip("mid", "link set to-b up")
    return result or site.finished(process)


FLOODS = {
    "connections": "s = socket.socket(); s.setblocking(False); s.connect_ex(to); kept.append(s)",
    # large, so that they are much of a run's bytes also on a machine with other work
    "datagrams": "socket.socket(type=socket.SOCK_DGRAM).sendto(bytes(1000), to)",
}
FLOODS["half handshakes"] = "raw.send(next(half))"
FLOOD = """
import collections, contextlib, itertools, socket, struct, sys, time
kept, to, end = collections.deque(maxlen=200), (sys.argv[1], int(sys.argv[2])), time.time() + 2
raw = socket.socket(type=socket.SOCK_RAW, proto=socket.IPPROTO_TCP)
raw.connect((to[0], 0))
ends = raw.getsockname()[0], to[0]

def opening(port):
    segment = struct.pack(">HHIIHHHH", port, to[1], port, 0, 0x5002, 65535, 0, 0)
    whole = b"".join(map(socket.inet_aton, ends)) + struct.pack(">HH", 6, len(segment)) + segment
    summed = sum(struct.unpack(f">{{len(whole) // 2}}H", whole))
    summed = (summed & 0xFFFF) + (summed >> 16)
    summed = ~((summed & 0xFFFF) + (summed >> 16)) & 0xFFFF
    return segment[:16] + struct.pack(">H", summed) + segment[18:]

half = itertools.cycle([opening(port) for port in range(20_000, 24_000)])
while time.time() < end:
    with contextlib.suppress(OSError):  # the path's queue is full
        {}
"""


def flooded(site: Site, what: str) -> Result:
    """A third host of the data network sends to the port of a run as fast as it can."""
    middle, port = site.namespaces["mid"], re.compile(rf"{ADDRESSES['b'][2]}:(\d+) ")
    run("ip", "-n", middle, "addr", "add", "198.18.0.9/24", "dev", "bridge")
    process = under_way(site)
    used = port.search(run(*site.inside("b", "ss", "-Htn")))
    script = FLOOD.format(FLOODS[what])
    flood = (sys.executable, "-c", script, ADDRESSES["b"][2], used[1] if used else "")
    run(*site.inside("mid", *flood))
    return site.finished(process)


@contextlib.contextmanager
def by_iperf3(site: Site) -> Iterator[None]:
    """The study's streams are those of iperf3."""
    study = site.study.read_text().replace("sender: a}", "sender: a, generator: iperf3}")
    study = "".join(line for line in study.splitlines(True) if not line.startswith("socket:"))
    with changed(site.study, study):
        yield


def iperf3_flooded(site: Site, what: str) -> Result:
    """On a path of 100 Mbit/s: unlike netlab's streams, those of iperf3 are not paced here."""
    device = ("-n", site.namespaces["mid"], "qdisc")
    slow = ("root", "tbf", "rate", "100mbit", "burst", "100kb", "latency", "50ms")
    run("tc", *device, "add", "dev", "to-b", *slow)
    with by_iperf3(site):
        result = flooded(site, what)
    run("tc", *device, "del", "dev", "to-b", "root")
    return result


def address_moved(site: Site) -> Result:
    """The data address of host b moves to an interface that leads nowhere."""
    process = under_way(site)
    site.ip("b", "link add spare type veth peer name nowhere")
    for name in ("spare", "nowhere"):
        site.ip("b", f"link set {name} addrgenmode none up")

    def move(old: str, new: str) -> None:
        site.ip("b", f"addr del {ADDRESSES['b'][2]}/24 dev {old}")
        site.ip("b", f"addr add {ADDRESSES['b'][2]}/24 dev {new}")

    move("data0", "spare")
    result = site.finished(process)
    move("spare", "data0")
    site.ip("b", "link del spare")
    return result


@contextlib.contextmanager
def black_hole(site: Site) -> Iterator[None]:
    """A link between the hosts drops packets above 1,500 B without an answer."""
    for name in ADDRESSES:
        site.ip("mid", f"link set to-{name} mtu 1500")
    yield
    for name in ADDRESSES:
        site.ip("mid", f"link set to-{name} mtu 16000")


def run_in_black_hole(site: Site) -> Result:
    """Without GSO: veth carries super-packets through links of any MTU."""

    def offload(state: str) -> None:
        run(*site.inside("a", "ethtool", "-K", "data0", "gso", state, "tso", state))

    offload("off")
    with black_hole(site):
        result = site.finished(site.measure())
    offload("on")
    return result


def check_in_black_hole(site: Site) -> Result:
    """With GSO, which must not hide it; a sound path passes."""
    assert "packets of 9000 B pass both ways" in site.check()[1]
    with black_hole(site):
        return site.check()


# --- processes of the hosts ---


def killed(site: Site, *kinds: str) -> Result:
    process = under_way(site)
    site.kill("a", *kinds)
    return site.finished(process)


def tune_killed(site: Site) -> Result:
    before = len(site.rows())
    result = killed(site, "tune")
    rows = site.rows()
    failed = rows[rows["flags"] == "failed"]
    assert len(failed) == 1 and len(rows) <= before + 1, rows[["run_id", "flags", "message"]]
    assert "the connection to the host is gone" in failed["message"].iloc[0]
    return result


def tune_and_guard_killed(site: Site) -> Result:
    result = killed(site, "tune", "guard")
    assert len(site.journals()) == 1
    recovering = site.start("tune", "recover", str(site.study))
    out, complaint = recovering.communicate(timeout=60)
    assert recovering.returncode == 0, complaint
    assert "a: mtu restored" in out and "a: sysctl net.ipv4.tcp_sack restored" in out
    return result


def stopped(site: Site, kind: str) -> Result:
    process = under_way(site)
    began = time.monotonic()
    pid = site.harm("a", kind, signal.SIGSTOP)
    try:
        result = site.finished(process)
        time.sleep(max(0.0, began + STOPPED_S - time.monotonic()))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    return result


# --- the controller ---


def controller(site: Site, number: int) -> Result:
    process = under_way(site, seconds=60)
    os.killpg(process.pid, number) if number == signal.SIGKILL else process.send_signal(number)
    return site.finished(process)


def controller_stopped(site: Site) -> Result:
    process = under_way(site)
    site.signal_controller(signal.SIGSTOP)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    site.signal_controller(signal.SIGKILL)
    return site.finished(process)


def controller_asleep(site: Site) -> Result:
    """It stops for longer than the hosts wait, as a laptop whose lid is closed, and goes on."""
    process = under_way(site, seconds=10)
    site.signal_controller(signal.SIGSTOP)
    for name in ADDRESSES:
        until(lambda name=name: not site.processes(name), GONE_S)
    site.signal_controller(signal.SIGCONT)
    return site.finished(process)


def two_controllers(site: Site, results: str) -> Result:
    first = under_way(site, seconds=300)
    into = ("--results", str(site.state / results), "--rounds", "1")
    result = site.finished(site.start("run", str(site.study), *into))
    first.send_signal(signal.SIGTERM)
    assert site.finished(first)[0] == 143
    if results == site.results.name:
        assert f"process {first.pid} of user root since 20" in result[1], result[1]
    return result


def mounted(site: Site, options: str) -> Result:
    """`ip netns exec` has given the process a mount namespace of its own."""
    return site.finished(site.measure(prefix=f"mount -t tmpfs -o {options} x {site.results}; exec"))


def shifted_clock(site: Site) -> tuple[Path, str]:
    """File of seconds by which a wall clock is ahead, and the shell's words that preload it."""
    library, offset = site.state / "shifted_clock.so", site.state / "offset"
    run("cc", "-shared", "-fPIC", "-O2", "-o", library, HERE / "shifted_clock.c")
    offset.write_bytes(bytes(8))
    return offset, f"export LD_PRELOAD={library} NL_OFFSET={offset}"


def set_clock(offset: Path, *hours: int) -> None:
    for each in hours:
        with offset.open("r+b") as mapped:  # in place: a process that maps an empty file is killed
            mapped.write((each * 3600).to_bytes(8, sys.byteorder, signed=True))
        time.sleep(0.5)


def clock_of_controller_set(site: Site) -> Result:
    """Its wall clock jumps by hours, forth and back, during the run."""
    offset, preload = shifted_clock(site)
    process = under_way(site, prefix=f"{preload}; exec")
    set_clock(offset, 5, -7, 0, 24 * 400)
    return site.finished(process)


def clock_of_host_set(site: Site) -> Result:
    """The wall clock of host b jumps during the run.

    Its agent is compiled there without -static, as where no static library is, so that a library
    can be preloaded: the clock of this machine is that of others.
    """
    offset, preload = shifted_clock(site)
    place = site.state / "dynamic"
    place.mkdir()
    with tarfile.open(fileobj=io.BytesIO(packed_sources(core.source_dir()))) as sources:
        sources.extractall(place)
    _, *words = shlex.split((core.source_dir() / "BUILD").read_text())
    quick = ["-O0" if word.startswith("-O") else word for word in words]
    subprocess.run(["cc", *quick], cwd=place, check=True)
    other = f"sed 's#[^ \"]*/gensink-[0-9a-z_-]*#{place}/gensink#'"
    site.wrap(
        "b",
        f"""case $SSH_ORIGINAL_COMMAND in *" agent "*)
  {preload}
  SSH_ORIGINAL_COMMAND=$(printf %s "$SSH_ORIGINAL_COMMAND" | {other}) ;;
esac""",
    )
    process = under_way(site)
    set_clock(offset, 5, -7, 24 * 400)
    result = site.finished(process)
    site.wrap("b")
    return result


# --- the machine of a host ---


@contextlib.contextmanager
def served(site: Site, prefix: str) -> Iterator[None]:
    """Host b's sshd, started otherwise."""
    site.serve("b", prefix)
    yield
    site.serve("b")


def cache_mounted(site: Site, options: str) -> Result:
    cache = site.state / "b" / "cache"
    cache.mkdir()
    with served(site, f"mount -t tmpfs -o {options} x {cache}; exec"):
        return site.finished(site.measure())


def run_mounted(site: Site, options: str) -> Result:
    """The directory of host b's locks and journals, for its sshd and what that starts alone."""
    mount = f"mkdir -p /run/netlab; mount -t tmpfs -o mode=700,{options} x /run/netlab; exec"
    with served(site, mount):
        return site.finished(site.measure())


def tool_mounted(site: Site, options: str) -> Result:
    """The temporary directory of host b, where a tool's output is until it ends."""
    place, config = site.state / "b" / "temporary", site.state / "b" / "sshd_config"
    place.mkdir()
    set_env = config.read_text().replace("SetEnv ", f"SetEnv TMPDIR={place} ")
    mount = f"mount -t tmpfs -o mode=1777,{options} x {place}; exec"
    with by_iperf3(site), changed(config, set_env), served(site, mount):
        return site.finished(site.measure())


def run_filled(site: Site) -> Result:
    """It fills up in a run: the journal cannot be written again, and goes in the end."""
    with served(
        site, "mkdir -p /run/netlab; mount -t tmpfs -o mode=700,size=1m x /run/netlab; exec"
    ):
        process = under_way(site)
        fill = "cat /dev/zero > /run/netlab/fill"
        inside = ("nsenter", "-t", site.servers["b"].pid, "-m", "sh", "-c", fill)
        run(*inside, check=False)
        return site.finished(process)


def clocks_differ(site: Site) -> Result:
    """Host b has been up for longer, by its own clock."""
    with served(site, "exec unshare --time --monotonic 9000000 --boottime 9000000 --kill-child"):
        return site.finished(site.measure())


def wrapped(site: Site, setting: str) -> Result:
    site.wrap("b", setting)
    try:
        return site.finished(site.measure())
    finally:
        site.wrap("b")


def sudo_expires(site: Site) -> Result:
    """The login of host b is not root, and its sudo asks for a password in the second visit."""
    tools, asks = site.state / "tools", site.state / "asks"
    tools.mkdir()
    refuse = "echo 'sudo: a password is required' >&2; exit 1"
    for name, text in {
        "id": "echo 1000",
        "sudo": f'[ -e {asks} ] && {{ {refuse}; }}; shift 2; exec "$@"',
    }.items():
        (tools / name).write_text(f"#!/bin/sh\n{text}\n")
        (tools / name).chmod(0o755)
    site.wrap("b", f"PATH={tools}:$PATH")
    words = ("--results", str(site.results), "--rounds", "2", "--seconds", "3")
    process = site.start("run", str(site.study), *words)
    until(site.sending, 60)
    asks.touch()
    result = site.finished(process)
    site.wrap("b")
    return result


def route_added(site: Site) -> Result:
    """Another program changes the host while its tuning holds, and no knob of netlab."""
    process = site.measure()
    until(site.sending, 60)
    site.ip("b", "route add 203.0.113.0/24 dev data0")
    result = site.finished(process)
    site.ip("b", "route del 203.0.113.0/24 dev data0")
    return result


LIE = """case $SSH_ORIGINAL_COMMAND in
*gensink*agent*)
  sh -c "$SSH_ORIGINAL_COMMAND" | sed -u 's/"total_bytes":[0-9]*/&000000000000000/'
  exit ;;
esac"""
"""The agent of a host reports more bytes than any column can have."""

FAULTS: dict[str, Callable[[Site], Result]] = {
    # the long ones, which wait, are spread over the first half, so that others use the CPUs
    "the agent is stopped for 35 s": lambda site: stopped(site, "agent"),
    "tune is stopped for 35 s": lambda site: stopped(site, "tune"),
    "none": lambda site: site.finished(site.measure()),
    "a host is unreachable": lambda site: unreachable(site, "b"),
    "both hosts are unreachable": lambda site: unreachable(site, "a", "b"),
    "the host key is unknown": unknown_key,
    "the user has no SSH key": no_key,
    "another program adds a route during a run": route_added,
    "the agent's answer has a number beyond 64 bits": lambda site: wrapped(site, LIE),
    "the SSH agent is locked during a run, and a login follows": agent_locked,
    "an address moves to another interface during a run": address_moved,
    "sudo asks for a password in the second visit": sudo_expires,
    "the guard is stopped for 35 s": lambda site: stopped(site, "guard"),
    "a host becomes unreachable while its agent is pushed": cut_at_push,
    "a host becomes unreachable while it is tuned": lambda site: cut_at_record(site, "set"),
    "a host becomes unreachable while it is reverted": lambda site: cut_at_record(site, "reverted"),
    "the SSH sessions of a host are killed": session_killed,
    "the controller is stopped": controller_stopped,
    "the controller is stopped until the hosts have reverted, and goes on": controller_asleep,
    "both management links are down for 5 s": links_down_for_5_s,
    "the data link is cut": lambda site: data_link(site, 0),
    "the data link is down for 1 s": lambda site: data_link(site, 1),
    "both management links are cut": lambda site: cut_off(site, under_way(site), *ADDRESSES),
    "a third host floods the data port with connections": lambda site: flooded(site, "connections"),
    "a third host floods the data port with datagrams": lambda site: flooded(site, "datagrams"),
    "a third host floods iperf3's port with datagrams": lambda site: iperf3_flooded(
        site, "datagrams"
    ),
    "a third host floods iperf3's port with half handshakes": lambda site: iperf3_flooded(
        site, "half handshakes"
    ),
    "a link of the path drops large packets": run_in_black_hole,
    "`check`: a link of the path drops large packets": check_in_black_hole,
    "the agent is killed": lambda site: killed(site, "agent"),
    "tune is killed": tune_killed,
    "the guard is killed": lambda site: killed(site, "guard"),
    "tune and its guard are killed": tune_and_guard_killed,
    "the controller gets SIGTERM": lambda site: controller(site, signal.SIGTERM),
    "the controller gets SIGHUP": lambda site: controller(site, signal.SIGHUP),
    "the controller is killed": lambda site: controller(site, signal.SIGKILL),
    "another controller is at work": lambda site: two_controllers(site, "other"),
    "another controller writes into the same results": lambda site: two_controllers(
        site, "results"
    ),
    "the results are read-only": lambda site: mounted(site, "ro"),
    "the disk of the results is full": lambda site: mounted(site, "size=4k"),
    "the results have no inode left": lambda site: mounted(site, "nr_inodes=3"),
    "the clock of the controller is set": clock_of_controller_set,
    "the clock of a host is set": clock_of_host_set,
    "the monotonic clocks of the hosts differ": clocks_differ,
    "the disk of a host is full": lambda site: cache_mounted(site, "size=64k"),
    "a host has no inode left": lambda site: cache_mounted(site, "nr_inodes=2"),
    "the disk of a host's journals is full": lambda site: run_mounted(site, "size=64k"),
    "a host has no inode for a lock": lambda site: run_mounted(site, "nr_inodes=2"),
    "the disk of a host's journals fills up during a run": run_filled,
    "the output of a tool fills the disk of a host": lambda site: tool_mounted(site, "size=8k"),
    "a host has no inode for the output of a tool": lambda site: tool_mounted(site, "nr_inodes=2"),
    "the cache of a host is read-only": lambda site: cache_mounted(site, "ro"),
    "a host allows 40 open files": lambda site: wrapped(site, "ulimit -n 40"),
    "the agent has 3 MB of memory": lambda site: wrapped(
        site, 'case $SSH_ORIGINAL_COMMAND in *" agent "*) ulimit -v 3000;; esac'
    ),
}
