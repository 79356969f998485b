"""A path between two network namespaces of one machine, by netem or by netlab's emulator.

Every command that makes it is netlab's own for a study's lab; a shell of the machine runs it."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from faults.site import until
from lab_study import lab_study

from netlab import core
from netlab.lab import emulator, lab
from netlab.lab.emulator import KernelFeatures
from netlab.lab.namespaces import inside
from netlab.lab.topology import LabPath, Topology, topology

from .guest import Guest
from .image import DEBIAN

WAYS = ("netem", "netlab")
SIDES = {"a": "path-a", "b": "path-b"}
"""Host of the study -> its namespace in the machine."""
FEATURES = KernelFeatures(netem=True, rate=True, seed=True)
WORK = "/tmp/path"
GENSINK, DATAGRAMS = f"{WORK}/gensink", f"{WORK}/datagrams"
REQUESTS, ANSWERS = f"{WORK}/requests", f"{WORK}/answers"
END = f"""
for n in {" ".join(SIDES.values())}; do
    kill $(ip netns pids $n) 2>/dev/null
    ip netns delete $n
done
rm -f {REQUESTS} {ANSWERS}
"""
PORT = 5000
QUEUE_PACKETS = 10_000
TOKEN = "00112233445566778899aabbccddeeff"


def planned(by: str, **words: object) -> Topology:
    """The lab of a study whose path is emulated in a way.

    iproute2 6.1 takes no seed for netem, for which a study is refused: here it goes without one.
    """
    ends = [{"host": "a"}, {"host": "b"}]
    link = {"emulator": {"with": by, **words}}
    plan = topology(lab_study(paths={"a-b": {"ends": ends, "link": link}}), lambda: FEATURES)
    (path,) = plan.paths
    assert path.emulated_with == by
    if path.netem is not None:
        path = replace(path, netem=replace(path.netem, seed=None))
    return replace(plan, paths=(path,))


class Sent(NamedTuple):
    """Time that numbered datagrams took to send, and the numbers that arrived, in their order."""

    seconds: float
    arrived: list[int]


@dataclass(frozen=True)
class GuestPath:
    """A path that is up."""

    guest: Guest
    path: LabPath

    @property
    def addresses(self) -> dict[str, str]:
        """IPv4 address of each host."""
        return {end.host: end.addresses[0] for end in self.path.ends}

    def sh(self, script: str) -> str:
        return _sh(self.guest, script)

    def pings_ms(self, count: int = 10, interval_s: float = 0.1) -> list[float]:
        """Round-trip times of pings from a to b, in their order; lost ones are missing."""
        return _round_trips_ms(self.sh(self._ping(count, interval_s)))

    def _ping(self, count: int, interval_s: float) -> str:
        argv = ("ping", "-c", str(count), "-i", f"{interval_s:g}", "-W", "2", self.addresses["b"])
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
            self.sh(shlex.join(inside(name, ("sh", "-e", "-c", script))))

    def datagrams(self, count: int, size_B: int, pace_us: int = 0) -> Sent:
        """Send numbered datagrams from a to b."""
        to = (DATAGRAMS, self.addresses["b"], str(PORT))
        receive = shlex.join(inside(SIDES["b"], to))
        send = shlex.join(inside(SIDES["a"], (*to, str(count), str(size_B), str(pace_us))))
        printed = self.sh(
            f": >{WORK}/arrived; {receive} >{WORK}/arrived & "
            f"until grep -q listening {WORK}/arrived; do usleep 10000; done; "
            f"{send} && wait && tail -n +2 {WORK}/arrived"
        )
        took_ms, *arrived = map(int, printed.split())
        return Sent(took_ms / 1e3, arrived)

    def stream(self, window_s: float = 3.0, warmup_s: float = 1.0) -> tuple[float, list[float]]:
        """A TCP stream from a to b: its goodput, bit/s, and round trips of pings beside it, ms."""
        options = {"token": f"{WORK}/token", "port": PORT, "congestion": "reno"}
        options |= {"buffer_B": 300_000, "force_buffer": 1}
        options |= {"warmup_ms": round(warmup_s * 1e3), "window_ms": round(window_s * 1e3)}
        words = ("--json", *(f"--{key}={value}" for key, value in options.items()))
        address = self.addresses["b"]
        sink = inside(SIDES["b"], (GENSINK, "sink", "--bind", address, *words))
        gen = inside(SIDES["a"], (GENSINK, "gen", "--to", address, *words, "--tail_ms", "1000"))
        pings = int(window_s / 0.1)
        printed = self.sh(
            f"echo {TOKEN} >{WORK}/token; : >{WORK}/sink.log; "
            f"{shlex.join(sink)} >{WORK}/sink 2>{WORK}/sink.log & "
            f"until grep -q listening {WORK}/sink.log; do usleep 10000; done; "
            f"{shlex.join(gen)} >{WORK}/gen 2>&1 & sleep {warmup_s + 0.5:g}; "
            f"{self._ping(pings, 0.1)}; wait; tail -n 1 {WORK}/gen; tail -n 1 {WORK}/sink"
        )
        gen_result, result = (json.loads(line) for line in printed.splitlines()[-2:])
        assert result["status"] == gen_result["status"] == "ok", (
            result["message"],
            gen_result["message"],
        )
        window = result["window"]
        seconds = (window["t1_ns"] - window["t0_ns"]) / 1e9
        return window["bytes"] * 8 / seconds, _round_trips_ms(printed)

    def dropped(self) -> dict[str, int]:
        """Packets from a to b that were dropped at the queue, and at random."""
        if self.path.netem is None:
            report = _ask(self.guest, "report", "emulation")["directions"][0]["dropped"]
            return {"queue": report["queue"], "loss": report["loss"]}
        listing = (
            "tc",
            "-n",
            SIDES["a"],
            "-j",
            "-s",
            "qdisc",
            "show",
            "dev",
            self.path.ends[0].interface,
        )
        counts = {one["kind"]: one["drops"] for one in json.loads(self.sh(shlex.join(listing)))}
        # netem counts what the discipline below it refuses, too
        queue = counts.get("tbf", 0)
        return {"queue": queue, "loss": counts["netem"] - queue}


def path(guest: Guest, by: str, **words: object) -> contextlib.AbstractContextManager[GuestPath]:
    """A path of two hosts of their own, used once before.

    Parameters
    ----------
    guest : Guest
        The machine; :func:`equip` has been called for it.
    by : str
        ``netem`` or ``netlab``.
    **words
        Parameters of a study's emulator.
    """
    return up(guest, planned(by, **words))


@contextlib.contextmanager
def up(guest: Guest, plan: Topology) -> Iterator[GuestPath]:
    """The one path of a plan, see :func:`path`."""
    (lab_path,) = plan.paths
    try:
        _run_all(guest, [(("ip", "netns", "add", name), []) for name in SIDES.values()])
        if lab_path.emulator is None:
            run_in(guest, lab.pair_argv(lab_path, SIDES))
        else:
            _emulate(guest, lab_path)
        _run_all(
            guest,
            (
                command
                for host, name in SIDES.items()
                for command in lab.set_up_commands(host, name, plan, ipv6=True)
            ),
        )
        made = GuestPath(guest, lab_path)
        if lab_path.emulator is not None:
            for end in lab_path.ends:  # while the emulator has no CPU, its devices keep packets
                device = ("dev", end.interface, "txqueuelen", str(QUEUE_PACKETS))
                run_in(guest, inside(SIDES[end.host], ("ip", "link", "set", *device)))
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
    guest.sh(f"mkdir -p {WORK}; modprobe tun")
    guest.put(core.gensink_path(), GENSINK)
    guest.put(program, DATAGRAMS)


def run_in(guest: Guest, argv: Sequence[str]) -> str:
    """Run an argv in a machine, with Debian's tools."""
    return _sh(guest, shlex.join(argv))


def _sh(guest: Guest, script: str) -> str:
    return guest.sh(f"PATH={DEBIAN}:$PATH exec {DEBIAN}/sh -c {shlex.quote(script)}")


def _run_all(guest: Guest, commands: Iterable[tuple[Sequence[str], Sequence[str]]]) -> None:
    """Run commands with the input of each, up to the first that fails."""
    script = ["set -e"]
    for argv, lines in commands:
        text = "".join(f"{line}\n" for line in lines)
        script.append(f"printf %s {shlex.quote(text)} | {shlex.join(argv)}")
    _sh(guest, "\n".join(script))


def _emulate(guest: Guest, lab_path: LabPath) -> None:
    files = (GENSINK, REQUESTS, ANSWERS)
    start = inside(SIDES["a"], ("sh", "-c", emulator.START, "start", *files))
    _sh(guest, f"mkfifo {REQUESTS}; {shlex.join(start)}")
    for line in lab_path.emulator.requests():
        _ask(guest, line, "set")
    ends = tuple((SIDES[end.host], end.interface) for end in lab_path.ends)
    _ask(guest, emulator.open_request(ends), "opened")


def _ask(guest: Guest, line: str, event: str) -> dict:
    """The emulator's answer to a request; answers do not name their request."""
    answers = _sh(
        guest,
        f"n=$(wc -l <{ANSWERS}); printf '%s\\n' {shlex.quote(line)} >{REQUESTS}; "
        f"until [ $(wc -l <{ANSWERS}) -gt $n ]; do usleep 10000; done; tail -n 1 {ANSWERS}",
    )
    answer = json.loads(answers)
    assert answer["event"] == event, answer
    return answer


def _round_trips_ms(printed: str) -> list[float]:
    return [float(ms) for ms in re.findall(r" time=([\d.]+) ms", printed)]
