"""Causes of faults on the way to the hosts."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from e2e.faults.fault_site import ADDRESSES, Site, Started, disturbed, run, until
from e2e.faults.under_way import GONE_S, HERE, Result, changed, under_way

from netlab.hosts.host import COPY_TIMEOUT_S


def unreachable(site: Site, *names: str) -> Result:
    for name in names:
        site.ip(name, "link set mgmt down")
    result = site.finished(site.measure())
    site.find(*names)
    return result


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
