"""`netlab init`: from two SSH names to a study that runs, with nothing changed on the hosts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from faults.site import ADDRESSES, Site, run, standing

from netlab.results.store import Store
from netlab.study import load


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    with standing(tmp_path_factory.mktemp("init")) as site:
        yield site


def looked_at(site: Site, *words: str) -> tuple[int, str, str]:
    """Exit code, output and complaint of `netlab init` for both hosts."""
    names = (f"root@{ADDRESSES[name][0]}" for name in ("a", "b"))
    process = site.start("init", *names, "--identity-file", str(site.state / "key"), *words)
    out, complaint = process.communicate(timeout=120)
    return process.returncode, out, complaint


def test_a_study_is_written_that_checks_and_measures(site):
    before = site.dump()
    code, out, complaint = looked_at(site, "-o", "found.yml")
    assert code == 0, complaint
    assert site.dump() == before
    assert site.processes("a") == [] and not (site.state / "a" / "cache").exists()
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
    check = site.start("check", "found.yml")
    said, complaint = check.communicate(timeout=120)
    assert check.returncode == 0, said + complaint
    words = ("run", "found.yml", "--rounds", "1", "--seconds", "0.3", "--results", "found")
    code, complaint = site.finished(site.start(*words))
    rows = Store(site.state / "found").runs()
    assert len(rows) == 2 * 3 and not rows["flags"].str.contains("failed").any(), complaint
    assert (rows["ledger_error_B"] == 0).all()
    # measured as found: nothing is changed, and what is there is recorded
    assert site.dump() == before
    planned, _ = site.start("tune", "plan", "found.yml").communicate(timeout=120)
    assert planned.count("no setting is changed") == 2
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


def test_a_file_that_is_there_is_not_lost(site):
    (site.state / "mine.yml").write_text("mine")
    code, _, complaint = looked_at(site, "-o", "mine.yml")
    assert code == 2 and "E-SURVEY-003" in complaint and "--force" in complaint
    assert (site.state / "mine.yml").read_text() == "mine"
    code, _, complaint = looked_at(site, "-o", "mine.yml", "--force")
    assert code == 0, complaint
    assert load(site.state / "mine.yml").name == "mine"


def test_what_would_spoil_a_measurement_is_listed_with_its_command(site):
    run(*site.inside("a", "ethtool", "-K", "data0", "tso", "off"))
    run(*site.inside("b", "ip", "link", "set", "data0", "mtu", "1400"))
    try:
        code, out, complaint = looked_at(site, "-o", "spoilt.yml")
    finally:
        run(*site.inside("a", "ethtool", "-K", "data0", "tso", "on"))
        run(*site.inside("b", "ip", "link", "set", "data0", "mtu", "1500"))
    assert code == 0, complaint
    assert "left: data0: tcp-segmentation-offload is off" in out
    assert "\n  ethtool -K data0 tso on\n" in out
    assert "right: data0 has MTU 1400 B and the other end 1500 B" in out
    text = (site.state / "spoilt.yml").read_text()
    assert "#   ethtool -K data0 tso on\n" in text
    assert "#   ip link set dev data0 mtu 1500\n" in text


def test_without_a_data_link_the_addresses_are_listed(site):
    run(*site.inside("b", "ip", "link", "set", "data0", "down"))
    try:
        code, _, complaint = looked_at(site, "-o", "none.yml")
    finally:
        run(*site.inside("b", "ip", "link", "set", "data0", "up"))
    assert code == 1 and "E-SURVEY-001" in complaint, complaint
    assert "right: data0 198.18.0.2 (down), mgmt 192.0.2.6" in complaint
    assert not (site.state / "none.yml").exists()


def test_addresses_of_the_user_are_taken_or_refused(site):
    code, _, complaint = looked_at(site, "-o", "v.yml", "--data", "198.18.0.1", "198.18.0.9")
    assert code == 1 and "E-SURVEY-002" in complaint
    assert "right: no interface has the address 198.18.0.9" in complaint
    code, out, complaint = looked_at(site, "-o", "v.yml", "--data", "198.18.0.1", "198.18.0.2")
    assert code == 0, complaint
    assert "left data0 (198.18.0.1)" in out


def test_one_host_is_no_path(site):
    process = site.start("init", "192.0.2.2", "root@192.0.2.2")
    _, complaint = process.communicate(timeout=60)
    assert process.returncode == 2 and "E-SURVEY-004" in complaint
