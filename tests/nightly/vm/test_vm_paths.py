"""One path by the kernel's netem and by netlab's emulator, between two hosts of one machine.

A study may get either. An interpreted processor sends late, never early: so the least of some round
trips counts, and rates are low and a median of some windows."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import pytest

from netlab.lab import emulator
from netlab.lab.emulator import KernelFeatures

from . import paths
from .guest import Guest
from .site import Machines

pytestmark = pytest.mark.timeout(600)
WINDOWS = 5
LATE_MS = 6.0
"""A packet waits so long, at the most, for the emulated processor."""
FRAME_B = 42
"""Headers of a datagram: UDP, IP and Ethernet."""
both = pytest.mark.parametrize("by", paths.WAYS)


@pytest.fixture(scope="module")
def guest(two_machines: Machines) -> Iterator[Guest]:
    """The machine with two CPUs, on which nothing stays."""
    machine = two_machines.guests["a"]
    paths.equip(machine, two_machines.state)
    yield machine
    machine.sh(f"rm -r {paths.WORK}")


def test_the_probe_finds_netem_and_a_rate_but_no_seeds(guest):
    """Linux 6.1 and iproute2 6.1."""
    there = emulator.probed(lambda argv: paths.run_in(guest, argv))
    assert there == KernelFeatures(netem=True, rate=True, seed=False)


@both
def test_a_stream_gets_the_rate_and_the_queue_no_more_than_its_length(guest, by):
    """20 ms there and 30 back; a queue of 60,000 B lasts 120 ms at 4 Mb/s.

    A segment has 1448 B of data in a frame of 1514. What arrived late fills up the next window.
    """
    shares, idle_ms, longest_ms = [], [], []
    with paths.path(guest, by, delay_ms=[20.0, 30.0], rate_Mbps=4.0, queue_B=60_000) as path:
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


@both
@pytest.mark.parametrize(
    ("delay_ms", "limit"),
    [([0.0, 0.0], {"queue_packets": 40}), ([20.0, 0.0], {"queue_B": 40 * (1000 + FRAME_B)})],
    ids=["near", "far"],
)
def test_the_tail_is_dropped_at_the_limit_of_the_queue(guest, by, limit, delay_ms):
    """A burst of 200 packets at 200 kb/s, where one leaves in 42 ms."""
    with paths.path(guest, by, rate_Mbps=0.2, delay_ms=delay_ms, **limit) as path:
        path.quieten()
        seconds, arrived = path.datagrams(200, 1000)
        dropped = path.dropped()
    assert dropped == {"queue": 200 - len(arrived), "loss": 0}
    assert arrived[:40] == list(range(40)) and arrived == sorted(arrived)
    # what is in transmission is in the queue of netlab's emulator, and not in that of netem
    left = seconds * 200e3 / 8 / (1000 + FRAME_B)
    assert 40 <= len(arrived) <= 42 + left, (len(arrived), left)


@both
def test_a_queue_may_be_longer_than_the_packets_in_flight(guest, by):
    with paths.path(guest, by, rate_Mbps=10.0, queue_packets=1500) as path:
        assert path.datagrams(1600, 500, 20).arrived[:1500] == list(range(1500))


@both
def test_random_loss_has_its_probability_and_keeps_the_order(guest, by):
    """3,000 packets at 5 %: 150 lost, standard deviation 11.9."""
    with paths.path(guest, by, rtt_ms=10.0, loss=0.05) as path:
        path.quieten()
        before = path.dropped()["loss"]  # pings before
        arrived = path.datagrams(3000, 100, 100).arrived
        lost = path.dropped()["loss"] - before
    assert arrived == sorted(arrived)
    assert lost == 3000 - len(arrived) and abs(lost - 150) < 4 * 11.9


@both
def test_only_netems_jitter_changes_the_order(guest, by):
    with paths.path(guest, by, rtt_ms=40.0, jitter_ms=10.0) as path:
        arrived = path.datagrams(500, 100, 1000).arrived
        pings_ms = path.pings_ms(20, 0.05)
    assert sorted(arrived) == list(range(500))
    assert (arrived == sorted(arrived)) is (by == "netlab")
    assert min(pings_ms) > 20 and max(pings_ms) > 40


@both
def test_netem_sends_at_once_what_netlab_sends_later(guest, by):
    """1,000 packets at 5 %, one a ms: 50 leave 20 ms earlier or later, standard deviation 6.9."""
    with paths.path(guest, by, rtt_ms=40.0, reorder=0.05, reorder_ms=20.0) as path:
        arrived = path.datagrams(1000, 100, 1000).arrived
    assert sorted(arrived) == list(range(1000))
    moved = [place - number for place, number in enumerate(arrived)]
    early, late = (sum(sign * places > 8 for places in moved) for sign in (-1, 1))
    several, none = (early, late) if by == "netem" else (late, early)
    assert abs(several - 50) < 4 * 6.9 and none <= 3, (early, late)


def test_the_first_packet_waits_for_an_address_on_netems_ethernet_only(guest):
    """Each host asks for the other's address; the emulator's devices carry IP and have none."""
    ask_again = "for n in path-a path-b; do ip -n $n neigh flush all; done"
    for by, trips in (("netem", 2), ("netlab", 1)):
        with paths.path(guest, by, rtt_ms=100.0) as path:
            path.sh(ask_again)
            first_ms = path.pings_ms(1)[0]
        assert 100 * trips <= first_ms < 100 * (trips + 0.9), (by, first_ms)


def test_what_netem_reorders_passes_the_rate_by(guest):
    """So a study's path with a rate is not left to it.

    A slow machine sends 15 packets and more before a delayed one arrives, half of them at once.
    """
    plan = paths.planned("netem", rtt_ms=100.0, rate_Mbps=0.2)
    (lab_path,) = plan.paths
    wrong = replace(lab_path, netem=replace(lab_path.netem, reorder=0.5))
    with paths.up(guest, replace(plan, paths=(wrong,))) as path:
        arrived = path.datagrams(100, 1000).arrived
    # up to the first of those that were delayed, whose number is lower
    ahead = next(place for place, (a, b) in enumerate(pairwise(arrived), 1) if b < a)
    # they were sent at once, when the rate would have let one pass
    assert ahead >= 2, arrived
