"""CAKE of Linux 6.1 and netlab's, with the same senders and receivers in the same machine.

An interpreted processor sends late, never early, and is alike for both."""

from __future__ import annotations

import contextlib
import json
import shlex
import statistics
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from e2e.faults.fault_site import until
from nightly.vm.guest import Guest
from nightly.vm.guest_path import (
    DATAGRAMS,
    END,
    GENSINK,
    PORT,
    SIDES,
    WORK,
    GuestPath,
    equip,
    run_in,
    sh_in,
)
from nightly.vm.vm_site import Machines

from netlab.lab.emulator import EmulatorSettings, open_request
from netlab.lab.namespaces import inside
from netlab.study import Emulator
from netlab.study.links import Reverse

pytestmark = pytest.mark.timeout(600)
KINDS = ("linux", "netlab")
RATE_MBPS, BACK_MS = 5.0, 20
LIMIT_BPS = RATE_MBPS * 1e6 * 1448 / 1514
DEVICE, ROUTER = "data0", "path-router"
ADDRESSES = {"linux": ("198.18.77.2", "198.18.78.2"), "netlab": ("198.18.77.1", "198.18.77.2")}
"""Of a and b."""
HOSTS = f"""
set -e
for n in {" ".join(SIDES.values())}; do
    ip netns add $n
    ip -n $n link set lo up
done
"""
# a discipline of the sender's own machine would hold it back by TCP small queues, without a signal
LINUX = f"""
ip netns add {ROUTER}
ip netns exec {ROUTER} sysctl -qw net.ipv4.ip_forward=1
for end in a:77 b:78; do
    side=path-${{end%%:*}} net=198.18.${{end##*:}}
    ip link add {DEVICE} netns $side type veth peer name to-$side netns {ROUTER}
    ip -n {ROUTER} address add $net.1/24 dev to-$side
    ip -n {ROUTER} link set to-$side up
    ip -n $side address add $net.2/24 dev {DEVICE}
    ip -n $side link set {DEVICE} up
    ip -n $side route add default via $net.1
done
tc -n {ROUTER} qdisc add dev to-path-b root cake bandwidth {RATE_MBPS:g}mbit besteffort
tc -n {SIDES["b"]} qdisc add dev {DEVICE} root netem delay {BACK_MS}ms limit 10000
"""
NETLAB_UP = "".join(
    f"""
ip -n {SIDES[side]} link set {DEVICE} addrgenmode none up
ip -n {SIDES[side]} address add {mine} peer {other} dev {DEVICE}
"""
    for side, mine, other in zip("ab", ADDRESSES["netlab"], ADDRESSES["netlab"][::-1], strict=True)
)
REQUESTS, ANSWERS = f"{WORK}/requests", f"{WORK}/answers"


def netlab_script() -> str:
    """Start the emulator with the settings that a study of this CAKE has."""
    asked = Emulator(
        delay_ms=(0.0, float(BACK_MS)),
        rate_Mbps=RATE_MBPS,
        queue_discipline="cake",
        reverse=Reverse(queue_discipline="fifo"),
    )
    ends = ((SIDES["a"], DEVICE), (SIDES["b"], DEVICE))
    lines = [*EmulatorSettings.of(asked).requests(), open_request(ends)]
    start = shlex.join(inside(SIDES["a"], (GENSINK, "emulate")))
    return f"""
modprobe tun
rm -f {REQUESTS}; mkfifo {REQUESTS}; : >{ANSWERS}
setsid {start} <>{REQUESTS} >{ANSWERS} 2>&1 &
printf '%s\\n' {shlex.join(lines)} >{REQUESTS}
for i in $(seq 500); do
    if grep -q opened {ANSWERS}; then break; fi
    usleep 20000
done
{NETLAB_UP}
"""


@pytest.fixture(scope="module")
def guest(two_machines: Machines) -> Iterator[Guest]:
    """The machine with two CPUs, on which nothing stays."""
    machine = two_machines.guests["a"]
    equip(machine, two_machines.state)
    yield machine
    machine.sh(f"rm -r {WORK}")


@contextlib.contextmanager
def cake_path(guest: Guest, kind: str) -> Iterator[GuestPath]:
    """A path from a to b with one of both CAKEs, and its round trip on the way back."""
    try:
        sh_in(guest, HOSTS + (LINUX if kind == "linux" else netlab_script()))
        path = GuestPath(guest, ADDRESSES[kind][1], (DEVICE, DEVICE))
        until(lambda: path.pings_ms(1), 20, 0.1)
        yield path
    finally:
        sh_in(guest, f"{END}\nip netns delete {ROUTER} 2>/dev/null || true")


@dataclass(frozen=True)
class Queue:
    """What CAKE did so far: packets, and the mean wait of the last ones, ms."""

    dropped: int
    marked: int
    wait_ms: float


def queue_of(path: GuestPath, kind: str) -> Queue:
    if kind == "linux":
        shown = ("tc", "-n", ROUTER, "-j", "-s", "qdisc", "show", "dev", "to-path-b")
        (cake,) = json.loads(run_in(path.guest, shown))
        (tin,) = cake["tins"]
        return Queue(cake["drops"], tin["ecn_mark"], tin["avg_delay_us"] / 1e3)
    sh_in(path.guest, f"echo report samples=1 >{REQUESTS}; usleep 500000")
    report = json.loads(sh_in(path.guest, f"grep '\"emulation\"' {ANSWERS} | tail -n 1"))
    there, waiting_B = report["directions"][0], report["samples"]["ab_queue_B"]
    assert there["dropped"]["memory"] == 0
    # the samples of the stream are those with a queue; some are before its window
    waits_ms = [each_B * 8 / RATE_MBPS / 1e3 for each_B in waiting_B if each_B]
    dropped = there["dropped"]["queue"] + there["dropped"]["early"]
    return Queue(dropped, there["marked"], statistics.mean(waits_ms))


def streams(path: GuestPath, count: int, beside: str = ":") -> list[float]:
    """Shares of the link that TCP streams have."""
    options = {"streams": count, "congestion": "reno", "buffer_B": 100_000, "drain_ms": 20_000}
    _, _, sink = path.run(beside, warmup_ms=3000, window_ms=8000, **options)
    window = sink["window"]
    seconds = (window["t1_ns"] - window["t0_ns"]) / 1e9
    return [8 * one["window_bytes"] / seconds / LIMIT_BPS for one in sink["per_stream"]]


def alike(of: dict[str, float], factor: float = 2.0) -> bool:
    return 1 / factor < of["netlab"] / of["linux"] < factor


def test_a_greedy_flow_has_as_many_drops_and_as_short_a_queue(guest):
    """Reno at 5 Mb/s, where a packet takes 2.4 ms, and four of them are more than the target."""
    queues, shares = {}, {}
    for kind in KINDS:
        with cake_path(guest, kind) as path:
            (shares[kind],) = streams(path, 1)
            queues[kind] = queue_of(path, kind)
        assert queues[kind].marked == 0 and queues[kind].dropped > 5, queues
        assert 2 < queues[kind].wait_ms < 25, queues
    assert alike({kind: queue.dropped for kind, queue in queues.items()}), queues
    assert alike({kind: queue.wait_ms for kind, queue in queues.items()}, 2.5), queues
    assert alike(shares), shares


def test_flows_with_ecn_have_as_many_marks_and_no_drops(guest):
    queues = {}
    for kind in KINDS:
        with cake_path(guest, kind) as path:
            for name in SIDES.values():
                run_in(guest, inside(name, ("sysctl", "-w", "net.ipv4.tcp_ecn=1")))
            streams(path, 1)
            queues[kind] = queue_of(path, kind)
        assert queues[kind].dropped == 0, queues
    assert alike({kind: queue.marked for kind, queue in queues.items()}), queues


def test_two_flows_have_equal_shares(guest):
    for kind in KINDS:
        with cake_path(guest, kind) as path:
            one, other = streams(path, 2)
        assert alike({"linux": one, "netlab": other}, 1.25), (kind, one, other)


def test_a_flood_of_datagrams_loses_as_many_of_them(guest):
    """Datagrams at twice the rate for 16 s, around a stream."""
    shares, arrived = {}, {}
    for kind in KINDS:
        to = (DATAGRAMS, ADDRESSES[kind][1], str(PORT))
        receive = shlex.join(inside(SIDES["b"], to))
        send = shlex.join(inside(SIDES["a"], (*to, "20000", "1000", "800")))
        beside = (
            f": >{WORK}/arrived; {receive} >{WORK}/arrived & "
            f"until grep -q listening {WORK}/arrived; do usleep 10000; done; {send} >{WORK}/took"
        )
        with cake_path(guest, kind) as path:
            (shares[kind],) = streams(path, 1, beside)
            dropped = queue_of(path, kind).dropped
        arrived[kind] = int(sh_in(guest, f"wc -l <{WORK}/arrived")) - 1
        # the stream loses some, too
        assert 0 <= dropped - (20_000 - arrived[kind]) < 500, (kind, arrived, dropped)
        assert 0.15 < shares[kind] < 0.55, shares
    assert alike(shares) and alike(arrived, 1.3), (shares, arrived)
