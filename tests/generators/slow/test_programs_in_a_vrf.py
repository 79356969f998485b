"""Programs of others are started in the VRF of their interface, or refused by name."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace

import pytest
from generators.pretender import MOVED_B, metering, pretender
from local_host import LocalHost
from measure.scripted import request
from refusals import refused

from netlab.errors import HostError
from netlab.generators import installed, run_trial, versions
from netlab.hosts import path as hosts_path
from netlab.measure.exchange import RunEnd

IPROUTE2 = """\
#!/bin/sh
case "$1 $2" in
"vrf help") echo 'Usage: ip vrf exec [NAME] cmd ...' >&2; exit 255 ;;
"vrf exec") echo "$1 $2 $3 $4" >>{calls}; shift 3; exec "$@" ;;
esac
"""
BUSYBOX = "#!/bin/sh\necho 'ip: unrecognized' >&2; exit 1\n"
WITHOUT_BPF = """\
#!/bin/sh
case "$1 $2" in
"vrf help") echo 'Usage: ip vrf exec [NAME] cmd ...' >&2; exit 255 ;;
"vrf exec") echo "Failed to load BPF prog: 'Operation not permitted'" >&2; exit 1 ;;
esac
"""
CARRIED_B = 7_010_000


@pytest.fixture
def with_ip(tmp_path):
    """A host whose `ip` is the given script, before any other; and the commands of a VRF."""
    calls = tmp_path / "calls"
    calls.touch()

    def host(script: str, *, alone: bool = False) -> LocalHost:
        program = tmp_path / "bin" / "ip"
        program.parent.mkdir()
        program.write_text(script.format(calls=shlex.quote(str(calls))))
        program.chmod(0o755)
        for name in ("sh", "grep", "head", "timeout", "true", "python3", "id"):
            (program.parent / name).symlink_to(shutil.which(name))
        made = LocalHost(tmp_path / "home", f"{program.parent}{'' if alone else ':/usr/bin:/bin'}")
        made.open()
        made.is_root = True
        return made

    return host, lambda: calls.read_text().splitlines()


def test_both_ends_of_a_run_are_started_in_their_vrfs(with_ip):
    host, calls = with_ip
    here = host(IPROUTE2)
    ends = [
        RunEnd(name, metering(CARRIED_B), "127.0.0.1", "lo", 0, 0, vrf=vrf)
        for name, vrf in (("left", "red"), ("right", ""))
    ]
    hosts = {"left": here, "right": here}
    how = {"mtu_B": 1500, "with_controller": ("left", "right")}
    asked = request(streams=1, record_length_B=4096, force_buffer=False, warmup_ms=0)
    result = run_trial(pretender(), *ends, asked, hosts=hosts, versions={}, **how)
    assert result.outcome.flows[0].sink["total_bytes"] == MOVED_B
    (line,) = calls()
    assert line == "vrf exec red python3"
    assert result.provenance["client"][:5] == ("ip", "vrf", "exec", "red", "python3")
    assert result.provenance["server"][0] == "python3"


def test_a_version_is_read_in_the_vrf_in_which_its_runs_are(with_ip):
    host, calls = with_ip
    here = host(IPROUTE2)
    assert installed.found_on(here, pretender(version_of="Python 3.*"), "red")[1].startswith(
        "Python 3"
    )
    assert calls()[0] == "vrf exec red true" and "vrf exec red /" in calls()[1]
    missing = replace(pretender(), program="no-such-program-there-is")
    assert installed.found_on(here, missing, "red") is None


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (BUSYBOX, "no `ip` of this host has that command; install iproute2"),
        (WITHOUT_BPF, "Failed to load BPF prog: 'Operation not permitted'"),
    ],
)
def test_a_host_that_starts_nothing_in_a_vrf_is_refused_with_the_reason(
    with_ip, monkeypatch, script, words
):
    host, _ = with_ip
    # without this machine's own ip
    alone = installed.SCRIPT.replace(":/usr/local/bin:/usr/sbin:/sbin", "")
    monkeypatch.setattr(installed, "SCRIPT", alone)
    monkeypatch.setenv("NETLAB_IPERF3", "sh")
    with refused(HostError, "E-TOOL-080") as error:
        versions(host(script, alone=True), ["iperf3"], "red")
    text = str(error.value)
    assert "iperf3 is started by `ip vrf exec red sh`, as red is a VRF" in text and words in text


def test_pings_of_a_vrf_name_the_interface(tmp_path, with_ip):
    host, _ = with_ip
    here = host(IPROUTE2)
    for name in ("ping", "traceroute"):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\necho "{name} $*"\n')
        program.chmod(0o755)
    found = hosts_path.probe_path(here, "192.0.2.1", "192.0.2.2", "data0")
    assert found.ping == "ping -n -c 5 -i 0.02 -I data0 192.0.2.2"
    assert "-s 192.0.2.1 -i data0 192.0.2.2" in found.traceroute
