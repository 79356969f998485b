"""Two hosts and a path between them inside one virtual machine, with programs that send over it."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from e2e.faults.fault_site import until
from lab_study import lab_study
from nightly.vm.guest import Guest
from nightly.vm.image import DEBIAN

from netlab import core
from netlab.lab import making
from netlab.lab.kernel_emulator import KernelFeatures
from netlab.lab.namespaces import inside
from netlab.lab.topology import Topology, topology

SIDES = {"a": "path-a", "b": "path-b"}
"""Host of the study -> its namespace in the machine."""
FEATURES = KernelFeatures(netem=True, rate=True, seed=True)
WORK = "/tmp/path"
GENSINK = f"{WORK}/gensink"
DATAGRAMS = f"{WORK}/datagrams"
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
    address: str
    """Of b."""
    interfaces: tuple[str, str]

    def pings_ms(self, count: int = 10, interval_s: float = 0.1) -> list[float]:
        """Round-trip times of pings from a to b, in their order; lost ones are missing."""
        return _round_trips_ms(sh_in(self.guest, self._ping(count, interval_s)))

    def _ping(self, count: int, interval_s: float) -> str:
        argv = ("ping", "-c", str(count), "-i", f"{interval_s:g}", "-W", "2", self.address)
        return f"{shlex.join(inside(SIDES['a'], argv))} || true"

    def quieten(self) -> None:
        """Let the kernels send nothing of their own: multicast reports, questions for addresses."""
        for name, interface in zip(SIDES.values(), self.interfaces, strict=True):
            setting = f"/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"
            keep = f"ip neigh replace $address dev {interface} lladdr $mac nud permanent"
            script = f"""
echo 1 >{setting}
ip -4 neigh show dev {interface} | while read address _ mac _; do {keep} || exit; done
"""
            sh_in(self.guest, shlex.join(inside(name, ("sh", "-e", "-c", script))))

    def datagrams(self, count: int, size_B: int, pace_us: int = 0) -> tuple[float, list[int]]:
        """Send numbered datagrams from a to b: the time it takes, and those that arrive."""
        to = (DATAGRAMS, self.address, str(PORT))
        receive = shlex.join(inside(SIDES["b"], to))
        send = shlex.join(inside(SIDES["a"], (*to, str(count), str(size_B), str(pace_us))))
        printed = sh_in(
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
        printed = sh_in(
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

    def qdiscs(self) -> dict[str, dict]:
        """Statistics of the disciplines from a to b, by kind."""
        listing = ("tc", "-n", SIDES["a"], "-j", "-s", "qdisc", "show", "dev", self.interfaces[0])
        return {one["kind"]: one for one in json.loads(run_in(self.guest, listing))}

    def dropped(self) -> dict[str, int]:
        """Packets from a to b that were dropped at the queue, and at random."""
        counts = {kind: one["drops"] for kind, one in self.qdiscs().items()}
        # netem counts what the discipline below it refuses, too
        queue = counts.get("tbf", 0)
        return {"queue": queue, "loss": counts["netem"] - queue}


@contextlib.contextmanager
def emulated_path(guest: Guest, **words: object) -> Iterator[GuestPath]:
    """A path of two hosts of their own, used once before; words are a study's emulator's."""
    plan = planned(**words)
    (lab_path,) = plan.paths
    commands = [(("ip", "netns", "add", name), []) for name in SIDES.values()]
    commands.append((making.pair_argv(lab_path, SIDES), []))
    for host, name in SIDES.items():
        commands += making.set_up_commands(host, name, plan, ipv6=True)
    try:
        script = ["set -e"]
        for argv, lines in commands:
            text = "".join(f"{line}\n" for line in lines)
            script.append(f"printf %s {shlex.quote(text)} | {shlex.join(argv)}")
        sh_in(guest, "\n".join(script))
        interfaces = tuple(end.interface for end in lab_path.ends)
        made = GuestPath(guest, lab_path.ends[1].addresses[0], interfaces)
        # either host has the other's hardware address then
        until(lambda: made.pings_ms(1), 20, 0.1)
        yield made
    finally:
        sh_in(guest, END)


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
    return sh_in(guest, shlex.join(argv))


def sh_in(guest: Guest, script: str) -> str:
    return guest.sh(f"PATH={DEBIAN}:$PATH exec {DEBIAN}/sh -c {shlex.quote(script)}")


def _round_trips_ms(printed: str) -> list[float]:
    return [float(ms) for ms in re.findall(r" time=([\d.]+) ms", printed)]
