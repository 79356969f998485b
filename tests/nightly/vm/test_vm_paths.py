"""A path by the kernel's netem between two hosts of one machine.

A study may get it or netlab's emulator, of which tests/native/test_native_emulate.py asserts the
same. An interpreted processor sends late, never early: so the least of some round
trips counts, and rates are low and a median of some windows."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from e2e.faults.fault_site import until
from lab_study import lab_study
from nightly.vm.guest import Guest
from nightly.vm.image import DEBIAN
from nightly.vm.vm_site import Machines

from netlab import core
from netlab.lab import emulator, lab
from netlab.lab.emulator import KernelFeatures
from netlab.lab.namespaces import inside
from netlab.lab.topology import LabPath, Topology, topology

SIDES = {"a": "path-a", "b": "path-b"}
"""Host of the study -> its namespace in the machine."""
FEATURES = KernelFeatures(netem=True, rate=True, seed=True)
WORK = "/tmp/path"
GENSINK, DATAGRAMS = f"{WORK}/gensink", f"{WORK}/datagrams"
END = f"""
for n in {" ".join(SIDES.values())}; do
    kill $(ip netns pids $n) 2>/dev/null
    ip netns delete $n
done
"""
PORT = 5000
TOKEN = "00112233445566778899aabbccddeeff"


def planned(**words: object) -> Topology:
    """The lab of a study whose path is emulated by netem.

    iproute2 6.1 takes no seed for netem, for which a study is refused: here it goes without one.
    """
    ends = [{"host": "a"}, {"host": "b"}]
    link = {"emulator": {"with": "netem", **words}}
    plan = topology(lab_study(paths={"a-b": {"ends": ends, "link": link}}), lambda: FEATURES)
    (path,) = plan.paths
    assert path.emulated_with == "netem"
    return replace(plan, paths=(replace(path, netem=replace(path.netem, seed=None)),))


@dataclass(frozen=True)
class GuestPath:
    guest: Guest
    path: LabPath

    @property
    def address(self) -> str:
        return self.path.ends[1].addresses[0]

    def pings_ms(self, count: int = 10, interval_s: float = 0.1) -> list[float]:
        """Round-trip times of pings from a to b, in their order; lost ones are missing."""
        return _round_trips_ms(_sh(self.guest, self._ping(count, interval_s)))

    def _ping(self, count: int, interval_s: float) -> str:
        argv = ("ping", "-c", str(count), "-i", f"{interval_s:g}", "-W", "2", self.address)
        return f"{shlex.join(inside(SIDES['a'], argv))} || true"

    def quieten(self) -> None:
        """Let the kernels send nothing of their own: multicast reports, questions for addresses."""
        for name, end in zip(SIDES.values(), self.path.ends, strict=True):
            setting = f"/proc/sys/net/ipv6/conf/{end.interface}/disable_ipv6"
            keep = f"ip neigh replace $address dev {end.interface} lladdr $mac nud permanent"
            script = f"""
echo 1 >{setting}
ip -4 neigh show dev {end.interface} | while read address _ mac _; do {keep} || exit; done
"""
            _sh(self.guest, shlex.join(inside(name, ("sh", "-e", "-c", script))))

    def datagrams(self, count: int, size_B: int, pace_us: int = 0) -> tuple[float, list[int]]:
        """Send numbered datagrams from a to b: the time it takes, and those that arrive."""
        to = (DATAGRAMS, self.address, str(PORT))
        receive = shlex.join(inside(SIDES["b"], to))
        send = shlex.join(inside(SIDES["a"], (*to, str(count), str(size_B), str(pace_us))))
        printed = _sh(
            self.guest,
            f": >{WORK}/arrived; {receive} >{WORK}/arrived & "
            f"until grep -q listening {WORK}/arrived; do usleep 10000; done; "
            f"{send} && wait && tail -n +2 {WORK}/arrived",
        )
        took_ms, *arrived = map(int, printed.split())
        return took_ms / 1e3, arrived

    def stream(self, window_s: float = 3.0, warmup_s: float = 1.0) -> tuple[float, list[float]]:
        """A TCP stream from a to b: its goodput, bit/s, and round trips of pings beside it, ms."""
        options = {"congestion": "reno", "buffer_B": 300_000, "tail_ms": 1000}
        options |= {"warmup_ms": round(warmup_s * 1e3), "window_ms": round(window_s * 1e3)}
        pings = f"sleep {warmup_s + 0.5:g}; {self._ping(int(window_s / 0.1), 0.1)}"
        printed, _, result = self.run(pings, **options)
        window = result["window"]
        seconds = (window["t1_ns"] - window["t0_ns"]) / 1e9
        return window["bytes"] * 8 / seconds, _round_trips_ms(printed)

    def run(self, beside: str = ":", **options: object) -> tuple[str, dict, dict]:
        """A run of gensink from a to b: what is printed beside it, and both results."""
        options = {"token": f"{WORK}/token", "port": PORT, "force_buffer": 1, **options}
        known, ends = core.options(), []
        for role, name, way in (("sink", SIDES["b"], "--bind"), ("gen", SIDES["a"], "--to")):
            mine = (f"--{k}={v}" for k, v in options.items() if role in known[k].roles)
            ends.append(
                shlex.join(inside(name, (GENSINK, role, way, self.address, "--json", *mine)))
            )
        sink, gen = ends
        printed = _sh(
            self.guest,
            f"echo {TOKEN} >{WORK}/token; : >{WORK}/sink.log; "
            f"{sink} >{WORK}/sink 2>{WORK}/sink.log & "
            f"until grep -q listening {WORK}/sink.log; do usleep 10000; done; "
            f"{gen} >{WORK}/gen 2>&1 & {beside}; "
            f"wait; tail -n 1 {WORK}/gen; tail -n 1 {WORK}/sink",
        )
        gen_result, result = (json.loads(line) for line in printed.splitlines()[-2:])
        assert result["status"] == gen_result["status"] == "ok", (
            result["message"],
            gen_result["message"],
        )
        return printed, gen_result, result

    def dropped(self) -> dict[str, int]:
        """Packets from a to b that were dropped at the queue, and at random."""
        interface = self.path.ends[0].interface
        listing = ("tc", "-n", SIDES["a"], "-j", "-s", "qdisc", "show", "dev", interface)
        counts = {
            one["kind"]: one["drops"] for one in json.loads(_sh(self.guest, shlex.join(listing)))
        }
        # netem counts what the discipline below it refuses, too
        queue = counts.get("tbf", 0)
        return {"queue": queue, "loss": counts["netem"] - queue}


@contextlib.contextmanager
def emulated_path(guest: Guest, **words: object) -> Iterator[GuestPath]:
    """A path of two hosts of their own, used once before; words are a study's emulator's."""
    plan = planned(**words)
    (lab_path,) = plan.paths
    commands = [(("ip", "netns", "add", name), []) for name in SIDES.values()]
    commands.append((lab.pair_argv(lab_path, SIDES), []))
    for host, name in SIDES.items():
        commands += lab.set_up_commands(host, name, plan, ipv6=True)
    try:
        script = ["set -e"]
        for argv, lines in commands:
            text = "".join(f"{line}\n" for line in lines)
            script.append(f"printf %s {shlex.quote(text)} | {shlex.join(argv)}")
        _sh(guest, "\n".join(script))
        made = GuestPath(guest, lab_path)
        # either host has the other's hardware address then
        until(lambda: made.pings_ms(1), 20, 0.1)
        yield made
    finally:
        _sh(guest, END)


def equip(guest: Guest, place: Path) -> None:
    """Compile the test's own program, and put it and gensink on a machine."""
    program = place / "datagrams"
    source = Path(__file__).with_name("datagrams.c")
    subprocess.run(("cc", "-O1", "-static", "-o", program, source), check=True)
    guest.sh(f"mkdir -p {WORK}")
    guest.put(core.gensink_path(), GENSINK)
    guest.put(program, DATAGRAMS)


def run_in(guest: Guest, argv: Sequence[str]) -> str:
    """Run an argv in a machine, with Debian's tools."""
    return _sh(guest, shlex.join(argv))


def _sh(guest: Guest, script: str) -> str:
    return guest.sh(f"PATH={DEBIAN}:$PATH exec {DEBIAN}/sh -c {shlex.quote(script)}")


def _round_trips_ms(printed: str) -> list[float]:
    return [float(ms) for ms in re.findall(r" time=([\d.]+) ms", printed)]


pytestmark = pytest.mark.timeout(600)
WINDOWS = 5
LATE_MS = 6.0
"""A packet waits so long, at the most, for the emulated processor."""
FRAME_B = 42
"""Headers of a datagram: UDP, IP and Ethernet."""


@pytest.fixture(scope="module")
def guest(two_machines: Machines) -> Iterator[Guest]:
    """The machine with two CPUs, on which nothing stays."""
    machine = two_machines.guests["a"]
    equip(machine, two_machines.state)
    yield machine
    machine.sh(f"rm -r {WORK}")


def test_the_probe_finds_netem_and_a_rate_but_no_seeds(guest):
    """Linux 6.1 and iproute2 6.1."""
    there = emulator.probed(lambda argv: run_in(guest, argv))
    assert there == KernelFeatures(netem=True, rate=True, seed=False)


@pytest.mark.parametrize("joined", [{}, {"gso": 1, "gro": 1}], ids=["alone", "joined"])
def test_datagrams_beyond_what_a_machine_can_send_are_accounted_for(guest, joined):
    """Linux 6.1 cuts 64 datagrams from a message, later ones 128."""
    options = {"udp": 1, "record_B": 64, "pacing_Bps": 50_000_000, "buffer_B": 4_000_000}
    with emulated_path(guest, rate_Mbps=1000.0, queue_packets=100_000) as path:
        _, gen, sink = path.run(window_ms=1000, **options, **joined)
    sent, received = (end["per_stream"][0]["udp"] for end in (gen, sink))
    assert sent["sent"] == received["received"] + received["lost"], received
    assert received["received"] > 1000 and sent["skipped"] > 1000
    assert gen["send"] == ("gso" if joined else "sendmmsg")


def test_a_stream_gets_the_rate_and_the_queue_no_more_than_its_length(guest):
    """20 ms there and 30 back; a queue of 60,000 B lasts 120 ms at 4 Mb/s.

    A segment has 1448 B of data in a frame of 1514. What arrived late fills up the next window.
    """
    shares, idle_ms, longest_ms = [], [], []
    with emulated_path(guest, delay_ms=[20.0, 30.0], rate_Mbps=4.0, queue_B=60_000) as path:
        for _ in range(WINDOWS):
            idle_ms.append(min(path.pings_ms()))
            goodput_bps, loaded_ms = path.stream()
            longest_ms.append(statistics.quantiles(loaded_ms, n=10)[-1])
            shares.append(goodput_bps / (4e6 * 1448 / 1514))
        dropped = path.dropped()
    assert 0.97 < statistics.median(shares) < 1.02, shares
    assert min(idle_ms) >= 50 and statistics.median(idle_ms) < 50 + LATE_MS, idle_ms
    assert 110 < statistics.median(longest_ms) < 170 + LATE_MS, longest_ms
    assert dropped["queue"] > 0 and dropped["loss"] == 0, dropped


@pytest.mark.parametrize(
    ("delay_ms", "limit"),
    [([0.0, 0.0], {"queue_packets": 40}), ([20.0, 0.0], {"queue_B": 40 * (1000 + FRAME_B)})],
    ids=["near", "far"],
)
def test_the_tail_is_dropped_at_the_limit_of_the_queue(guest, limit, delay_ms):
    """A burst of 200 packets at 200 kb/s, where one leaves in 42 ms."""
    with emulated_path(guest, rate_Mbps=0.2, delay_ms=delay_ms, **limit) as path:
        path.quieten()
        seconds, arrived = path.datagrams(200, 1000)
        dropped = path.dropped()
    assert dropped == {"queue": 200 - len(arrived), "loss": 0}
    assert arrived[:40] == list(range(40)) and arrived == sorted(arrived)
    # what is in transmission is in the queue of netlab's emulator, and not in that of netem
    left = seconds * 200e3 / 8 / (1000 + FRAME_B)
    assert 40 <= len(arrived) <= 42 + left, (len(arrived), left)


def test_a_queue_may_be_longer_than_the_packets_in_flight(guest):
    with emulated_path(guest, rate_Mbps=10.0, queue_packets=1500) as path:
        _, arrived = path.datagrams(1600, 500, 20)
    assert arrived[:1500] == list(range(1500))


def test_random_loss_has_its_probability_and_keeps_the_order(guest):
    """3,000 packets at 5 %: 150 lost, standard deviation 11.9."""
    with emulated_path(guest, rtt_ms=10.0, loss=0.05) as path:
        path.quieten()
        before = path.dropped()["loss"]  # pings before
        _, arrived = path.datagrams(3000, 100, 100)
        lost = path.dropped()["loss"] - before
    assert arrived == sorted(arrived)
    assert lost == 3000 - len(arrived) and abs(lost - 150) < 4 * 11.9


def test_jitter_changes_the_order(guest):
    with emulated_path(guest, rtt_ms=40.0, jitter_ms=10.0) as path:
        _, arrived = path.datagrams(500, 100, 1000)
        pings_ms = path.pings_ms(20, 0.05)
    assert sorted(arrived) == list(range(500))
    assert arrived != sorted(arrived)
    assert min(pings_ms) > 20 and max(pings_ms) > 40


def test_what_is_reordered_is_sent_at_once(guest):
    """1,000 packets at 5 %, one a ms: 50 leave 20 ms earlier, standard deviation 6.9."""
    with emulated_path(guest, rtt_ms=40.0, reorder=0.05, reorder_ms=20.0) as path:
        _, arrived = path.datagrams(1000, 100, 1000)
    assert sorted(arrived) == list(range(1000))
    moved = [place - number for place, number in enumerate(arrived)]
    early, late = (sum(sign * places > 8 for places in moved) for sign in (-1, 1))
    assert abs(early - 50) < 4 * 6.9 and late <= 3, (early, late)
