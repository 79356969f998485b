"""Two virtual machines and a controller in a network namespace, which reaches them through taps.

Each card of one machine is joined with the same card of the other."""

from __future__ import annotations

import contextlib
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml
from e2e.faults.fault_site import ADDRESSES, Site, run, until
from forked_controller import Controller
from nightly.vm.guest import CARDS, Guest
from nightly.vm.image import Image

DATA = {card: index for index, card in enumerate(CARDS)}
FAR_CLOCK = "2031-02-03T04:05:06"
"""Clock of host b, years ahead."""
MORE: dict[str, dict] = {"a": {"processors": 2}, "b": {"has_disk": True, "clock": FAR_CLOCK}}
"""What distinguishes a host."""
STARTED_S = 150.0
"""Timeout of a run's start: interpreted processors are slow, and slower on a busy machine."""
POLL_S = 0.3
"""A look at a machine takes time that its processes need."""
UP = "cat /sys/class/net/*/carrier | grep -q 0 || ip addr | grep -q tentative || echo ready"
"""Tells when every link is up, with its addresses."""

DUMP = r"""
sysctl -a 2>/dev/null | grep -v -e conntrack_count -e fastopen_key \
    -e random -e stable_secret -e rss_key -e '^\(fs\|kernel\|vm\|dev\|debug\)[.]' \
    -e inet_peer_threshold -e 'tcp_[rw]mem'  # by the memory that is free at boot
ip addr | sed 's/valid_lft.*//;s/ state [A-Z]*//;s/,LOWER_UP//;s/NO-CARRIER,//;s/ tentative//'
ip route | sed 's/ linkdown//' | sort
ip -6 route | sed 's/expires [0-9]*sec//;s/ linkdown//' | sort
for option in -g -c -k -a -l; do ethtool $option '*' 2>&1; done
for i in mgmt e1000e e1000 vmxnet3 virtio; do
    cd /sys/class/net/$i
    cat gro_flush_timeout napi_defer_hard_irqs threaded mtu tx_queue_len
    for q in device/msi_irqs/* device/../msi_irqs/*; do
        cpus=
        if [ -e /proc/irq/${q##*/} ]; then read cpus </proc/irq/${q##*/}/smp_affinity_list; fi
        echo $i $q $cpus
    done
done
"""


def study_of(
    addresses: dict[str, str],
    key: Path,
    ends: dict[str, dict[str, tuple[str, str]]],
    tunings: list[dict],
    **more: object,
) -> dict:
    """A study of hosts: paths are given by address and interface of either end."""
    login = {"kind": "ssh", "user": "root", "identity_file": str(key)}
    paths = {
        path: [{"host": h, "address": a, "interface": i} for h, (a, i) in both.items()]
        for path, both in ends.items()
    }
    # interpreted processors: no figure means anything
    kinds = ("steal_percent", "foreign_cpu_percent", "foreign_traffic_percent")
    return {
        **{"netlab": 1, "name": "machines", "title": "A study of virtual machines"},
        "hosts": {name: {**login, "address": address} for name, address in addresses.items()},
        "paths": {path: {"ends": both} for path, both in paths.items()},
        "groups": [{"name": path, "path": path, "sender": "a"} for path in paths],
        **{"tunings": tunings, "streams": [1]},
        "noise": {**dict.fromkeys(kinds, 100), "retries": 0},
        **more,
    }


class Machines(Site):
    """The controller and the machines a, of two CPUs, and b, which has a disk and another clock."""

    def __init__(self, state: Path, image: Image):
        super().__init__(state)
        self.as_found: dict[str, str] = {}
        self.namespaces = {"ctl": self.namespaces["ctl"]}
        controller = ("ip", "netns", "exec", self.namespaces["ctl"])
        self.guests = {
            name: Guest(name, number, address, state, controller, image, **MORE[name])
            for number, (name, (address, _, _)) in enumerate(ADDRESSES.items(), 1)
        }
        self.write_study([{"name": "big", "mtus_B": [9000], "knobs": KNOBS[:3]}])

    def up(self) -> None:
        self.make_controller()
        # sockets of dead processes give up soon, see lose_controller()
        run(*self.inside("ctl", "sysctl", "-qw", "net.ipv4.tcp_orphan_retries=1"))
        known = ""
        for name, guest in self.guests.items():
            self.ip("ctl", f"tuntap add dev to-{name} mode tap")
            self.ip("ctl", f"addr add {ADDRESSES[name][1]}/30 dev to-{name}")
            self.ip("ctl", f"link set to-{name} up")
            known += guest.made()
        (self.state / "home" / ".ssh" / "known_hosts").write_text(known)
        for guest in self.guests.values():
            guest.start()
        for guest in self.guests.values():
            guest.wait()
        for guest in self.guests.values():  # a link that comes up later adds addresses and routes
            until(lambda guest=guest: guest.sh(UP) == "ready\n", 60, POLL_S)
        self.as_found = self.dump()

    def down(self) -> None:
        for guest in self.guests.values():
            guest.stop()
        super().down()

    def write_study(self, tunings: list[dict], *cards: str, **more) -> None:
        """The study of the machines: a path for each card, and a group on it."""
        ends = {
            card: {
                name: (f"198.18.{DATA[card]}.{guest.number}", card)
                for name, guest in self.guests.items()
            }
            for card in cards or ("e1000e",)
        }
        addresses = {name: guest.address for name, guest in self.guests.items()}
        study = study_of(addresses, self.state / "key", ends, tunings, **more)
        self.study.write_text(yaml.safe_dump(study, sort_keys=False))

    def lose_controller(self, process: Controller) -> None:
        """Cut the controller's power: no packet says that its connections are gone.

        It is away until :meth:`find_controller`; the machines' QEMU is not part of it.
        """
        for name in self.guests:
            self.tc(f"add dev to-{name} root pfifo limit 0")
        machines = {guest.process.pid for guest in self.guests.values()}
        for pid in map(int, run("ip", "netns", "pids", self.namespaces["ctl"]).split()):
            if pid not in machines:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        process.wait()

    def find_controller(self) -> None:
        """Let the controller be up again, without a connection of before."""
        listing = self.inside("ctl", "ss", "-Htan", "state", "connected", "exclude", "time-wait")
        until(lambda: not run(*listing), 45)
        for name in self.guests:
            self.tc(f"del dev to-{name} root")

    def tc(self, words: str) -> None:
        run("tc", "-n", self.namespaces["ctl"], "qdisc", *words.split())

    def sending(self) -> bool:
        counter = "cat /sys/class/net/e1000e/statistics/tx_bytes"
        before, self._sent_B = getattr(self, "_sent_B", None), int(self.guests["a"].sh(counter))
        return before is not None and self._sent_B > before + 50_000

    def under_way(self) -> Controller:
        self._sent_B = None  # not what an earlier run sent
        process = self.measure()
        until(lambda: process.poll() is not None or self.sending(), STARTED_S, POLL_S)
        assert process.poll() is None, self.finished(process)
        return process

    def processes(self, name: str, what: str = "") -> list[int]:
        lines = self.guests[name].sh("ps -o pid,comm,args").splitlines()
        mine = [line for line in lines if "gensink" in line or "netlab" in line]
        return [int(line.split()[0]) for line in mine if what in line]

    def dump(self) -> dict[str, str]:
        """Every setting of both hosts, which are read at once."""
        with ThreadPoolExecutor() as readers:
            texts = readers.map(lambda guest: guest.sh(DUMP), self.guests.values())
            return dict(zip(self.guests, texts, strict=True))

    def journals(self) -> list[str]:
        script = "ls /run/netlab/tune-*.journal 2>/dev/null || true"
        return [f for guest in self.guests.values() for f in guest.sh(script).split()]

    def ended(self) -> None:
        """Wait until no process of netlab is left on a machine."""
        for name in self.guests:
            until(lambda name=name: not self.processes(name), 45, POLL_S)

    def restored(self) -> None:
        """Wait until no process is left and every setting is as found; links come up again."""
        self.ended()
        differing: list[str] = []

        def same() -> bool:
            now = self.dump()
            differing[:] = [
                f"{sign}{name}: {line}"
                for name, text in self.as_found.items()
                for sign, some, others in (("-", text, now[name]), ("+", now[name], text))
                for line in {*some.splitlines()} - {*others.splitlines()}
            ]
            return not differing

        try:
            until(same, 45, POLL_S)
        except AssertionError as error:
            raise AssertionError("\n".join(differing)) from error

    def clean(self) -> None:
        """Wait until no process and no journal is left, and every setting is as found."""
        self.restored()
        until(lambda: not self.journals(), 45, POLL_S)


_VALUES = {
    "ring": {"rx": 128, "tx": "max"},
    "coalesce": {"rx-usecs": 100},
    "txqueuelen": {None: 2000},
    "qdisc": {None: "fq flow_limit 200 maxrate 800000000"},
    "feature": dict.fromkeys(
        ("rx-checksum", "tx-checksum", "tso", "gso", "gro", "scatter-gather"), "off"
    ),
    "defer": {"napi_defer_hard_irqs": 1, "gro_flush_timeout": 50_000},
    "napi": {"threaded": 1},
    "offload": {"gso_max_size": 30_000, "gro_max_size": 40_000},
    "governor": {None: "performance"},
    "pci": {"max-read-request": 1024},
    "irq": {"affinity": "spread"},
}
KNOBS = [
    {"kind": kind, **({"name": name} if name else {}), "value": value}
    for kind, values in _VALUES.items()
    for name, value in values.items()
]
"""Every knob of a card, with a value that is not the default of any driver here."""
MOST_TX = {"e1000e": "4096", "e1000": "4096", "vmxnet3": "4096", "virtio": "256"}
"""Packets that a ring of each card holds at most."""
AFFINITY = {
    "a": {"e1000e": "0*2/0-1", "e1000": "0", "vmxnet3": "0/1/0-1", "virtio": "0-1/0*2"},
    "b": {"e1000e": "0*3", "e1000": "0", "vmxnet3": "0*2", "virtio": "0*3"},
}
"""CPUs of each card's interrupts when its queues are spread; link changes and such stay."""
