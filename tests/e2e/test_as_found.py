"""A study without tunings leaves its hosts unchanged, and records their settings."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
import yaml

from netlab.lab.lab import Lab
from netlab.results.store import Store
from netlab.study import load
from tests.e2e import dumps
from tests.e2e.conftest import measured_through, run_netlab, small_study


@pytest.mark.timeout(600)
def test_as_found_changes_nothing_on_lab_hosts_and_records_their_settings(
    tmp_path: Path, machine_untouched
):
    content = small_study("found")
    del content["tunings"]
    content["groups"], content["streams"] = content["groups"][:1], [1]
    text = yaml.safe_dump(content).replace("left", "ours").replace("right", "theirs")
    path = tmp_path / "found.yml"  # a lab that no other study fits
    path.write_text(text)
    study = load(path)
    with Lab.up(study) as lab:  # without an owner, so that the commands use it
        for host in lab.hosts:
            by_hand = ("ip", "link", "set", "dev", "data0", "mtu", "3000")
            subprocess.run(lab.inside(host, by_hand), check=True)
        before = {host: dumps.dump(lab.namespace(host)) for host in lab.hosts}
        for command in ("check", "run"):
            more = ("--results", str(tmp_path / "results")) if command == "run" else ()
            done = run_netlab(command, str(path), *more, timeout_s=280)
            if command == "run":
                measured_through(done)
            else:
                assert done.returncode == 0, done.stdout + done.stderr
            for host, there in before.items():
                assert dumps.difference(there, dumps.dump(lab.namespace(host))) == {}, command
        planned = run_netlab("tune", "plan", str(path))
        assert planned.stdout.count("no setting is changed") == 2
    (row,) = Store(tmp_path / "results").runs().itertuples()
    assert (row.tuning, row.mtu_B, row.block_id) == ("as-found", 3000, "cable@as-found@found")
    knobs = json.loads(row.knobs)
    assert knobs["ours"]["mtu"] == knobs["theirs"]["mtu"] == "3000"
    sysctls = before["ours"]["sysctl"].splitlines()
    for name in ("net.ipv4.tcp_rmem", "net.ipv4.tcp_sack"):
        (line,) = [line for line in sysctls if line.startswith(f"{name} = ")]
        assert knobs["ours"][name] == " ".join(line.partition(" = ")[2].split())
    assert json.loads(row.unsupported) == []
    assert (row.buffer_B, row.warmup_rule, row.congestion_source) == (0, "stated", "as found")
    (line,) = [line for line in sysctls if line.startswith("net.ipv4.tcp_congestion_control = ")]
    assert row.congestion == row.congestion_in_force == line.split()[2]
    assert 0 < row.cwnd_start_segments <= row.cwnd_t0_segments <= row.cwnd_max_segments
    assert row.rcvbuf_start_B == int(knobs["theirs"]["net.ipv4.tcp_rmem"].split()[1])
    assert row.window_scale > 0
