"""A short check of a path: output is recorded and its summary parsed, with any ping."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from local_host import LocalHost

from netlab.hosts import path as hosts_path

IPUTILS = """PING 198.18.0.2 (198.18.0.2) from 198.18.0.1 : 56(84) bytes of data.
64 bytes from 198.18.0.2: icmp_seq=1 ttl=64 time=10.1 ms

--- 198.18.0.2 ping statistics ---
5 packets transmitted, 4 received, 20% packet loss, time 805ms
rtt min/avg/max/mdev = 10.052/10.087/10.150/0.036 ms"""
BUSYBOX = """PING 127.0.0.1 (127.0.0.1): 56 data bytes
--- 127.0.0.1 ping statistics ---
5 packets transmitted, 5 packets received, 0% packet loss
round-trip min/avg/max = 0.044/0.055/0.067 ms"""
UNANSWERED = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
--- 192.0.2.1 ping statistics ---
5 packets transmitted, 0 received, 100% packet loss, time 812ms"""


@pytest.mark.parametrize(
    ("printed", "sums"),
    [
        (IPUTILS, (10.052, 10.087, 10.150, 0.036, 20.0)),
        (BUSYBOX, (0.044, 0.055, 0.067, None, 0.0)),
        (UNANSWERED, (None, None, None, None, 100.0)),
        ("ping: not installed", (None,) * 5),
    ],
)
def test_the_sums_of_ping_are_read(printed, sums):
    found = hosts_path.parse(printed, "")
    assert found.ping == printed
    assert (found.min_ms, found.avg_ms, found.max_ms, found.mdev_ms, found.loss_percent) == sums


def tools(folder: Path, **scripts: str) -> str:
    """A directory of programs: sh and echo, and those given; its path."""
    folder.mkdir()
    for name in ("sh", "echo", "sleep", "timeout"):
        (folder / name).symlink_to(shutil.which(name))
    for name, script in scripts.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return str(folder)


@pytest.fixture
def bare(monkeypatch):
    """Programs are searched in the given directory alone."""
    for name in ("PING", "TRACEROUTE"):
        script = getattr(hosts_path, name).replace(":/usr/local/sbin:/usr/sbin:/sbin", "")
        monkeypatch.setattr(hosts_path, name, script)


def test_a_host_without_the_programs_is_not_a_failure(tmp_path, bare):
    host = LocalHost(tmp_path / "home", tools(tmp_path / "bin"))
    found = hosts_path.probe_path(host, "127.0.0.1", "127.0.0.1")
    assert found.ping == "ping: not installed"
    assert found.traceroute == "traceroute and tracepath: not installed"
    assert found.avg_ms is None


def test_each_program_is_given_both_addresses_and_tracepath_stands_in(tmp_path, bare):
    path = tools(tmp_path / "bin", ping='echo "ping $*"', tracepath='echo "tracepath $*"')
    found = hosts_path.probe_path(LocalHost(tmp_path / "home", path), "192.0.2.1", "192.0.2.2")
    assert found.ping == "ping -n -c 5 -i 0.02 -I 192.0.2.1 192.0.2.2"
    assert found.traceroute == "tracepath -n -m 16 192.0.2.2"


def test_a_slow_check_is_cut_short_and_its_output_recorded(tmp_path, bare):
    """Both run at once; the limit is 1.8 s and they would take 60 s each."""
    slow = "echo one hop\nexec sleep 60"
    path = tools(tmp_path / "bin", ping=slow, traceroute=slow)
    started = time.monotonic()
    found = hosts_path.probe_path(LocalHost(tmp_path / "home", path), "192.0.2.1", "192.0.2.2")
    assert time.monotonic() - started < 50
    assert found.ping == found.traceroute == "one hop"


def test_this_machine_is_seen_over_its_loopback(tmp_path):
    host, ends = LocalHost(tmp_path / "home"), ("127.0.0.1", "127.0.0.1")
    probed = hosts_path.probe_path(host, *ends)
    assert "127.0.0.1" in probed.traceroute
    several = hosts_path.ping(host, *ends, count=5, interval_s=0.02)  # its summary only
    assert "5 packets transmitted" in several.ping and "icmp_seq" not in several.ping
    for found in (probed, several):
        assert 0 < found.min_ms <= found.avg_ms <= found.max_ms and found.loss_percent == 0


def test_pings_without_an_answer_have_the_output(tmp_path):
    path = tools(tmp_path / "bin", ping="echo 'connect: Network is unreachable' >&2; exit 2")
    host = LocalHost(tmp_path / "home", path)
    found = hosts_path.ping(host, "192.0.2.1", "192.0.2.2", count=5, interval_s=0.02)
    assert found.avg_ms is None and found.ping == "connect: Network is unreachable"
