"""A path by the kernel's netem between two hosts of one machine.

A study may get it or netlab's emulator, of which tests/native/test_native_emulate.py asserts the
same. An interpreted processor sends late, never early: so the least of some round
trips counts, and rates are low and a median of some windows."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest
from nightly.vm.guest import Guest
from nightly.vm.guest_path import WORK, emulated_path, equip, run_in
from nightly.vm.vm_site import Machines

from netlab.lab import kernel_emulator
from netlab.lab.kernel_emulator import KernelFeatures

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
    there = kernel_emulator.probed(lambda argv: run_in(guest, argv))
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
