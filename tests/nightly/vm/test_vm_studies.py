"""Studies of two machines with network cards, kernels and clocks of their own, without Python."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pandas as pd
import pytest
from e2e.faults.fault_site import until
from nightly.vm.guest import Guest
from nightly.vm.vm_site import AFFINITY, KNOBS, MOST_TX, Machines

from netlab.results.store import Store

pytestmark = pytest.mark.timeout(600)
CARDS = ("e1000e", "e1000", "vmxnet3", "virtio")
DURING = """
bytes() { cat /sys/class/net/e1000e/statistics/[rt]x_bytes | sort -n | tail -n 1; }
before=$(bytes) tries=0
until [ $(bytes) -gt $((before + 500000)) ] || [ $((tries += 1)) -gt 1000 ]; do usleep 200000; done
for o in -g -c -k; do ethtool $o e1000e; done
cat /sys/class/net/e1000e/mtu
"""
"""Wait for a run's data on a card, and print its settings."""

FAULTY = {"e1000e": (17_000, 1), "e1000": (17_000, 1), "vmxnet3": (60, 400)}
"""Card -> size and number of frames at once that it drops."""
FAULTY_COUNTERS = {
    "e1000e": ("rx_long_length_errors", "rx_length_errors"),
    "e1000": ("rx_long_length_errors", "rx_length_errors"),
    "vmxnet3": ("pkts rx OOB",),
    # QEMU lets frames wait that find no buffer
    "virtio": (),
}


EXPERIMENTAL = bytes.fromhex("88b5")
"""An Ethernet type that no kernel takes (IEEE Std 802)."""
EVERY_S = 0.4


@contextlib.contextmanager
def spoiled(guest: Guest, frames: dict[str, tuple[int, int]]) -> Iterator[None]:
    """Send frames to QEMU's sockets of cards, again and again: size in B, and number at once."""
    ended = threading.Event()

    def send() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as cable:
            cable.settimeout(EVERY_S)  # QEMU takes some frames at once
            while not ended.wait(EVERY_S):
                for card, (size_B, count) in frames.items():
                    to = bytes.fromhex(guest.mac(card).replace(":", ""))
                    frame = (to + bytes.fromhex("525400ffffff") + EXPERIMENTAL).ljust(size_B, b"\0")
                    with contextlib.suppress(TimeoutError):
                        for _ in range(count):
                            cable.sendto(frame, str(guest.state / f"{card}-{guest.number}"))

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        ended.set()
        sending.join()


def measured(site: Machines, results: str, *words: str) -> pd.DataFrame:
    """The rows of a run of the study into results of its own."""
    where = site.state / results
    shutil.rmtree(where, ignore_errors=True)
    argv = ("run", str(site.study), "--results", str(where), "--rounds", "1", *words)
    code, complaint = site.finished(site.start(*argv), 300)
    assert "Traceback" not in complaint and "Warning" not in complaint, complaint
    rows = Store(where).runs()
    assert code == 0, (complaint, rows[["path", "flags", "message"]].to_dict("records"))
    return rows


@pytest.fixture(scope="module")
def study(two_machines: Machines) -> tuple[pd.DataFrame, list[str]]:
    """Two runs, as found and with another MTU, by a congestion control that is a module.

    Their rows, and available congestion controls of each host, before and after. Every setting is
    as before in the end.
    """
    site = two_machines
    tunings = [{"name": "as-found"}, {"name": "jumbo", "mtus_B": [9000], "knobs": []}]
    site.write_study(tunings, congestion="highspeed")
    controls = available(site)
    rows = measured(site, "study", "--seconds", "2")
    controls += available(site)
    site.clean()
    return rows, controls


@pytest.fixture(scope="module")
def tuned(two_machines: Machines) -> tuple[pd.DataFrame, list[str], dict[str, dict[str, set[str]]]]:
    """A run on each card with every knob, and on the cables of host b frames that are dropped.

    Rows by path, settings of the card e1000e of each host during a run, and names of the drivers'
    counters by host and card. Every setting is as before in the end.
    """
    site = two_machines
    site.write_study([{"name": "all", "mtus_B": [4000], "knobs": KNOBS}], *CARDS)
    names = {
        host: {card: counters(guest, card) for card in CARDS} for host, guest in site.guests.items()
    }
    with spoiled(site.guests["b"], FAULTY), ThreadPoolExecutor() as readers:
        seen = readers.map(lambda guest: guest.sh(DURING), site.guests.values())
        rows = measured(site, "knobs", "--seconds", "1").set_index("path")
        during = list(seen)
    site.clean()
    return rows, during, names


def counters(guest: Guest, card: str) -> set[str]:
    return set(re.findall(r"^ *(\S.*?): \d+$", guest.sh(f"ethtool -S {card}"), re.MULTILINE))


def available(site: Machines) -> list[str]:
    listed = "cat /proc/sys/net/ipv4/tcp_available_congestion_control"
    return [guest.sh(listed) for guest in site.guests.values()]


def test_the_machines_have_neither_python_nor_bash_nor_the_time(two_machines):
    for guest in two_machines.guests.values():
        for program in ("python3", "python", "perl", "bash", "cc"):
            assert guest.ssh(f"command -v {program}").returncode != 0, program
    here, there = (int(guest.sh("date +%s")) for guest in two_machines.guests.values())
    assert there - here > 365 * 24 * 3600


def test_check_passes_and_reads_the_bus(two_machines):
    two_machines.write_study([{"name": "jumbo", "mtus_B": [1500, 9000], "knobs": []}])
    code, said = two_machines.check()
    assert code == 0, said
    # 250 MB/s less headers and framing of 20 B a packet
    bus = "bus: PCIe 1.0 x1 (8b/10b) in packets of 128 B, 216 MB/s, as the host reports"
    for name in two_machines.guests:
        assert f"ok    {name}: {bus}" in said, said
    for size_B in (1500, 9000):
        assert f"MTU {size_B}: packets of {size_B} B pass both ways" in said, said
    two_machines.clean()


def test_init_finds_every_card_and_writes_a_study_that_measures(two_machines):
    site = two_machines
    names = (f"root@{guest.address}" for guest in site.guests.values())
    options = ("--identity-file", str(site.state / "key"), "--output", "found.yml", "--force")
    process = site.start("init", *names, *options)
    said, complaint = process.communicate(timeout=120)
    assert process.returncode == 0, complaint
    text = (site.state / "found.yml").read_text()
    for number, driver in ((1, "e1000e"), (2, "e1000"), (3, "vmxnet3"), (4, "virtio_net")):
        assert re.search(rf"# {driver}\b", text), driver
        assert f"address: 198.18.{number}.1," in text and f"address: 198.18.{number}.2," in text
    assert "PCIe 1.0 x1" in text
    assert re.search(r"left, right: their clocks are \d{8,} s apart", said), said
    words = ("run", "found.yml", "--rounds", "1", "--seconds", "0.1", "--results", "found")
    _, complaint = site.finished(site.start(*words), 300)
    rows = Store(site.state / "found").runs()
    assert rows["run_id"].nunique() == 2 * 3, complaint
    assert not rows["flags"].str.contains("failed|ledger").any(), complaint
    assert (rows["ledger_error_B"] == 0).all()
    site.clean()


def test_a_study_is_measured_and_its_ledger_closes(study):
    rows, _ = study
    assert list(rows["flags"]) == ["", ""], rows[["flags", "message"]].to_dict("records")
    assert (rows["ledger_error_B"] == 0).all()
    for text in rows["provenance"]:
        for facts in json.loads(text)["hosts"].values():
            assert facts["nic_driver"] == "e1000e"
            assert (facts["bus_width"], facts["bus_speed"]) == (1, "2.5 GT/s PCIe")


def test_a_congestion_control_of_the_kernel_is_loaded_for_a_study_only(study):
    """Its module; netlab's law of that name is for kernels without one."""
    rows, controls = study
    assert len(rows) == 2
    for text in rows["congestion_source"]:
        assert text.startswith("module highspeed (Linux 6."), text
    assert len(controls) == 4
    for available in controls:
        assert "cubic" in available and "highspeed" not in available


def test_a_driver_takes_its_link_down_to_apply_a_setting(two_machines):
    """So a run waits for the link; its path is pinged without a loss, see below."""
    carrier = "cat /sys/class/net/e1000e/carrier"
    for rx in (512, 256):
        assert two_machines.guests["a"].sh(f"ethtool -G e1000e rx {rx}; {carrier}") == "0\n"
        until(lambda: two_machines.guests["a"].sh(carrier) == "1\n", 60)


def test_every_knob_of_every_driver_is_applied_and_reverted(tuned):
    """A knob that a driver lacks is recorded with the reason."""
    rows, _, _ = tuned
    lacking = {card: set() for card in CARDS}
    for card in CARDS:
        applied = json.loads(rows.loc[card, "knobs"])
        for line in json.loads(rows.loc[card, "unsupported"]):
            assert line["reason"], line
            lacking[card].add(line["knob"])
        for host in AFFINITY:
            assert applied[host]["mtu"] == "4000"
            for knob in KNOBS:
                label = " ".join(filter(None, (knob["kind"], knob.get("name"))))
                if label not in lacking[card]:
                    value = AFFINITY[host][card] if knob["kind"] == "irq" else str(knob["value"])
                    value = MOST_TX[card] if value == "max" else value
                    assert applied[host][label] == value, (card, host, label)
    # the frequency of a virtual machine's CPU and the read request of its card are not its own
    assert lacking["e1000e"] == {"governor", "pci max-read-request"}
    assert {"coalesce rx-usecs"} <= lacking["e1000"] & lacking["vmxnet3"] & lacking["virtio"]
    # the path is pinged after the drivers have reset their cards
    assert (rows["ping_loss_percent"] == 0).all(), rows["ping_loss_percent"]


def test_settings_of_a_driver_are_changed_while_it_measures(tuned):
    for seen in tuned[1]:
        assert "RX:\t\t128" in seen.split("Current")[1], seen
        assert "\nrx-usecs: 100\n" in seen, seen
        assert "tcp-segmentation-offload: off" in seen, seen
        assert seen.endswith("\n4000\n"), seen


def test_a_run_names_the_counters_of_a_card_that_grew_as_its_driver_does(tuned):
    """Frames above the largest size of two cards, and more at once than the ring of a third has."""
    rows, _, names = tuned
    for card in CARDS:
        grown = json.loads(rows.loc[card, "card_counters"])
        assert set(grown) == {"sender", "receiver"}, card
        for end, host in (("sender", "a"), ("receiver", "b")):
            assert set(grown[end]) <= names[host][card], (card, grown[end])
        for name in FAULTY_COUNTERS[card]:
            assert grown["receiver"][name] > 0, (card, grown)


def test_a_congestion_control_of_netlab_is_refused_by_a_kernel_that_is_too_old(two_machines):
    site = two_machines
    stacks = {"own": {"law": "scalable"}}
    site.write_study([{"name": "as-found"}], stacks=stacks, congestion="own")
    code, complaint = site.finished(site.measure(seconds=1), 300)
    assert code == 1, complaint
    assert "a congestion control would outlive its process; needs Linux 6.4" in complaint
    site.clean()


def test_pause_frames_are_switched_off_and_each_queue_gets_its_discipline(two_machines):
    """A card that negotiates pause frames takes no other value, so that is switched off first."""
    site = two_machines
    knobs = [{"kind": "pause", "name": name, "value": "off"} for name in ("autoneg", "rx", "tx")]
    knobs.append({"kind": "qdisc", "value": "mq fq flow_limit 200 nopacing"})
    site.write_study([{"name": "quiet", "knobs": knobs}], "e1000", "vmxnet3")
    rows = measured(site, "pause", "--seconds", "1").set_index("path")
    for knob in json.loads(rows.loc["e1000", "knobs"]).values():
        assert [knob[f"pause {name}"] for name in ("autoneg", "rx", "tx")] == ["off"] * 3
    reasons = {
        card: {line["reason"] for line in json.loads(rows.loc[card, "unsupported"])}
        for card in rows.index
    }
    assert "the device has no pause frames to set" in reasons["vmxnet3"]
    # vmxnet3 has a queue for each CPU, and each its own discipline
    assert reasons["e1000"] == {"mq needs an interface with several transmit queues"}
    assert reasons["e1000"] < reasons["vmxnet3"]
    applied = json.loads(rows.loc["vmxnet3", "knobs"])
    assert applied["a"]["qdisc"] == "mq fq flow_limit 200 nopacing"
    assert "qdisc" not in applied["b"] or "mq" not in applied["b"]["qdisc"]
    site.clean()
