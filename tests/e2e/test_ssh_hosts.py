"""Hosts over SSH: found by `init`, measured in a line, disturbed by other work, without IPv4."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from e2e.faults.fault_site import ADDRESSES, ADDRESSES_6, Site, run, until

from netlab.results.store import Store
from netlab.study import load

BURN = "import time; end = time.monotonic() + 600\nwhile time.monotonic() < end: pass"
LINE = re.compile(
    r"left → right: (\d+)( ± [\d.]+| \([\d.]+ to [\d.]+\))? MB/s \(\d+ Mb/s\), "
    r"link rate unknown, RTT [\d.]+ ms, limit [\w ]+: .*"
)
"""The hosts share a kernel and a bridge without a rate."""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    with Site(tmp_path_factory.mktemp("hosts")) as site:
        yield site


def netlab(site: Site, *words: str) -> tuple[int, str, str]:
    """Exit code, output and complaint of a command."""
    process = site.start(*words)
    out, complaint = process.communicate(timeout=240)
    return process.returncode, out, complaint


def both(site: Site, command: str, *words: str) -> tuple[int, str, str]:
    """A command for both hosts, by their SSH names."""
    names = (f"root@{management}" for management, _, _ in site.addresses.values())
    return netlab(site, command, *names, "--identity-file", str(site.state / "key"), *words)


def test_init_writes_a_study_that_checks_and_measures(site):
    before = site.dump()
    code, out, complaint = both(site, "init", "-o", "found.yml")
    assert code == 0, complaint
    assert site.dump() == before
    assert site.processes("a") == []
    # the agent, by which a TCP connection was tried
    left = [file.name for file in (site.state / "a" / "cache").rglob("*") if file.is_file()]
    assert len(left) == 1 and left[0].startswith("gensink-")
    assert "found.yml: a study of left data0 (198.18.0.1) and right data0 (198.18.0.2)" in out
    assert "next: netlab check found.yml" in out
    study = load(site.state / "found.yml")
    ends = study.path("data").ends
    assert [(end.host, end.address, end.interface) for end in ends] == [
        ("left", "198.18.0.1", "data0"),
        ("right", "198.18.0.2", "data0"),
    ]
    assert [group.name for group in study.groups] == ["left -> right", "right -> left"]
    assert [level.name for level in study.tunings] == ["as-found"]
    code, out, complaint = netlab(site, "check", "found.yml")
    assert code == 0 and "both ends are one machine" in out, out + complaint
    short = ("--rounds", "1", "--seconds", "0.3", "--results", "found")
    _, _, complaint = netlab(site, "run", "found.yml", *short)
    rows = Store(site.state / "found").runs()
    assert len(rows) == 2 * 3 and not rows["flags"].str.contains("failed").any(), complaint
    assert (rows["ledger_error_B"] == 0).all()
    # measured as found: nothing is changed, and what is there is recorded
    assert site.dump() == before
    assert netlab(site, "tune", "plan", "found.yml")[1].count("no setting is changed") == 2
    sysctls = dict(line.split(" = ", 1) for line in before["a sysctl"].splitlines() if "=" in line)
    for row in rows.itertuples():
        assert (row.tuning, row.mtu_B, row.block_id) == ("as-found", 1500, "data@as-found@found")
        knobs = json.loads(row.knobs)
        assert knobs["left"]["mtu"] == knobs["right"]["mtu"] == "1500"
        for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"):
            assert knobs["left"][name] == " ".join(sysctls[name].split())
        assert json.loads(row.unsupported) == []
        found = (row.buffer_B, row.warmup_rule, row.congestion_source)
        assert found == (0, "default", "as found")
        default = sysctls["net.ipv4.tcp_congestion_control"]
        assert row.congestion == row.congestion_in_force == default
        assert 0 < row.cwnd_start_segments <= row.cwnd_t0_segments <= row.cwnd_max_segments
        receiver = "right" if row.sender == "left" else "left"
        assert row.rcvbuf_start_B == int(knobs[receiver]["net.ipv4.tcp_rmem"].split()[1])
        assert row.window_scale > 0
    # the memory copies of the one kernel that has both hosts are the only ceiling known
    assert set(rows["ceiling_kind"]) == {"memory"} and (rows["ceiling_MBps"] > 100).all()
    assert rows["ceiling_source"].str.startswith("copies of cold memory by one core").all()


def no_echo(site: Site) -> Callable[[], None]:
    """Neither host answers a ping."""
    for name in site.addresses:
        run(*site.inside(name, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=1"))
    return lambda: [
        run(*site.inside(name, "sysctl", "-qw", "net.ipv4.icmp_echo_ignore_all=0"))
        for name in site.addresses
    ]


def no_permission(site: Site) -> Callable[[], None]:
    """As in a container: ping is there, and ends with an error."""
    ping = site.state / "ping"
    ping.write_text("#!/bin/sh\necho 'ping: socket: Operation not permitted' >&2\nexit 2\n")
    ping.chmod(0o755)
    usual = shutil.which("ping")
    for name in site.addresses:
        site.serve(name, prefix=f"mount --bind {ping} {usual} && exec")
    return lambda: [site.serve(name) for name in site.addresses]


@pytest.mark.parametrize("why", [no_echo, no_permission], ids=lambda case: case.__name__)
def test_a_path_without_pings_is_found_checked_and_measured(site, why):
    undo = why(site)
    try:
        data = ("--data", "198.18.0.1", "198.18.0.2")
        for words in ((), data):
            code, out, complaint = both(site, "init", "-o", "quiet.yml", "--force", *words)
            assert code == 0 and "(198.18.0.1) and right data0" in out, complaint
            assert re.search(r"RTT [\d.]+ ms \(of TCP; no ping came back\)", out), out
        code, out, complaint = netlab(site, "check", "quiet.yml")
        assert code == 0, out + complaint
        code, out, complaint = both(site, "measure")
        assert code in (0, 4) and " MB/s" in out, out + complaint
    finally:
        undo()


def test_a_path_that_answers_pings_and_carries_no_tcp_is_none(site):
    rule = "add rule inet closed in tcp dport != 22 iifname data0 reject with tcp reset"
    table = "add table inet closed; add chain inet closed in {type filter hook input priority 0;}"
    for name in site.addresses:
        run(*site.inside(name, "nft", f"{table}; {rule}"))
    try:
        data = ("--data", "198.18.0.1", "198.18.0.2")
        code, _, complaint = both(site, "init", "-o", "closed.yml", *data)
    finally:
        for name in site.addresses:
            run(*site.inside(name, "nft", "delete table inet closed"))
    assert code == 1 and "no TCP connection passes" in complaint, complaint
    assert "--data" not in complaint and "a firewall may lie between" in complaint, complaint


def test_init_names_what_would_spoil_a_measurement_and_overwrites_on_request_only(site):
    mine = site.state / "mine.yml"
    mine.write_text("mine")
    code, _, complaint = both(site, "init", "-o", "mine.yml")
    assert code == 2 and "E-SURVEY-003" in complaint and "--force" in complaint
    assert mine.read_text() == "mine"
    site.ip("b", "link set data0 mtu 1400")
    data = ("--data", "198.18.0.1", "198.18.0.2")
    code, out, complaint = both(site, "init", "-o", "mine.yml", "--force", *data)
    site.ip("b", "link set data0 mtu 1500")
    assert code == 0, complaint
    assert load(mine).name == "mine" and "left data0 (198.18.0.1)" in out
    assert "right: data0 has MTU 1400 B and the other end 1500 B" in out
    assert "#   ip link set dev data0 mtu 1500\n" in mine.read_text()


def test_a_path_is_one_line_and_a_study_that_goes_on(site):
    before = site.dump()
    code, out, complaint = both(site, "measure", "--streams", "2")
    line, *warnings, file = out.splitlines()
    disturbed = line.endswith("; flagged, without an interval")
    assert code == (4 if disturbed else 0), complaint
    seen = LINE.fullmatch(line)
    assert seen and bool(seen[2]) != line.endswith("without an interval"), line
    assert len(warnings) <= 2 and all(": " in warning for warning in warnings)
    study = load(site.state / file)
    assert (study.streams, [group.name for group in study.groups]) == ((2,), ["left -> right"])

    code, out, complaint = both(site, "measure", "--streams", "2", "--both", "--json")
    answer = json.loads(out)
    assert code == (4 if answer["disturbed"] else 0), complaint
    assert answer["goodput_MBps"] > 10 and answer["rtt_ms"] > 0 and answer["runs"] == 3
    assert (answer["group"], answer["streams"]) == ("left <-> right", 2)
    assert (answer["low_MBps"] is None) == (answer["valid_runs"] < 3)
    assert answer["disturbed"] == (answer["valid_runs"] == 0)
    assert len(answer["warnings"]) <= 2 and answer["because"].startswith(answer["bottleneck"])

    results = Path(answer["results"])
    first = set(Store(results).runs()["run_id"])
    more = ("--rounds", "4", "--results", str(results))
    _, _, complaint = netlab(site, "run", answer["study"], *more)
    assert first < set(Store(results).runs()["run_id"]), complaint
    assert site.dump() == before


def test_a_disturbed_run_is_tried_again_while_that_helps_and_netlab_is_not_foreign_to_itself(site):
    """Any foreign load flags a run here, so that its message names the largest foreign process."""
    study = yaml.safe_load(site.study.read_text())
    study |= {"noise": {"foreign_cpu_percent": 0, "retries": 2, "wait": 1}, "streams": [4]}
    site.study.write_text(yaml.safe_dump(study))
    burners = [subprocess.Popen((sys.executable, "-c", BURN)) for _ in range(4)]
    try:
        measuring, own = site.measure(seconds=1.0), set()
        while measuring.poll() is None:
            own |= {pid for name in ADDRESSES for pid in site.pids(name)}
            time.sleep(0.05)
        code, complaint = site.finished(measuring)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert code == 4, complaint
    assert "these hosts are noisy" in complaint and "no valid run" in complaint
    assert "waiting for quiet, 1 s at most" in complaint and "other programs use" in complaint
    # of the first such run, and of the empty cell
    assert complaint.count("foreign CPU load") == 2
    records = Store(site.results).runs(superseded=True)
    # the first retry was disturbed as well, so it is the last
    assert records["superseded"].tolist() == [True, False]
    (row,) = site.rows().itertuples()
    assert "interference" in row.flags and "most of it by" in row.message, row.message
    named = set(map(int, re.findall(r"process (\d+)", row.message + complaint)))
    assert named and own and not named & own, complaint  # another test's may be named
    # the CPUs of one machine had that at most, and its copies are the ceiling of both ends
    assert 0 < row.foreign_cpu_percent <= 100 and row.ceiling_kind == "memory"


def test_hosts_without_ipv4_are_found_tuned_measured_recovered_and_reported(tmp_path):
    with Site(tmp_path, ADDRESSES_6) as site:
        for name in ADDRESSES_6:
            site.ip(name, "addr del 127.0.0.1/8 dev lo")

        def done(*words: str) -> str:
            code, out, complaint = netlab(site, *words)
            assert code == 0, out + complaint
            return out

        before = site.dump()
        code, out, complaint = both(site, "init", "-o", "found.yml")
        assert code == 0, complaint
        assert "a study of left data0 (2001:2::1) and right data0 (2001:2::2)" in out
        assert "packets of 1500 B pass both ways" in done("check", "found.yml")
        broken = site.measure(seconds=6)
        until(site.sending, 60)  # true for ever after a run that has sent
        site.kill("b", "tune", "guard")
        assert site.finished(broken)[0] == 1
        assert "b: mtu restored" in done("tune", "recover", str(site.study))
        assert site.dump() == before
        site.completed(seconds=0.5)
        assert site.dump() == before
        runs = Store(site.results).runs()
        (row,) = runs[runs["flags"] != "failed"].itertuples()
        assert (row.ledger_error_B, row.mss_B) == (0, 9000 - 72)
        done("report", str(site.study), "--results", str(site.results), "--site", "pages")
