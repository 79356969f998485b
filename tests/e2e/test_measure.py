"""`netlab measure`: one line on a path, and a study of it that goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path

from faults.site import ADDRESSES, standing

from netlab.results.store import Store
from netlab.study import load

LINE = re.compile(
    r"left → right: (\d+)( ± [\d.]+| \([\d.]+ to [\d.]+\))? MB/s \(\d+ Mb/s\), "
    r"link rate unknown, RTT [\d.]+ ms, limit [\w ]+: .*"
)
"""The hosts share a kernel and a bridge without a rate."""


def test_a_path_is_one_line_and_a_study_that_goes_on(tmp_path):
    with standing(tmp_path) as site:
        before = site.dump()
        hosts = [f"root@{ADDRESSES[name][0]}" for name in ("a", "b")]
        words = ("measure", *hosts, "--identity-file", str(site.state / "key"), "--streams", "2")
        process = site.start(*words)
        out, complaint = process.communicate(timeout=120)
        line, *warnings, file = out.splitlines()
        disturbed = line.endswith("; disturbed, without an interval")
        assert process.returncode == (4 if disturbed else 0), complaint
        seen = LINE.fullmatch(line)
        assert seen and bool(seen[2]) != disturbed, line
        assert len(warnings) <= 2 and all(": " in warning for warning in warnings)
        study = load(site.state / file)
        assert (study.streams, [group.name for group in study.groups]) == ((2,), ["left -> right"])

        process = site.start(*words, "--both", "--json")
        out, complaint = process.communicate(timeout=120)
        answer = json.loads(out)
        assert process.returncode == (4 if answer["disturbed"] else 0), complaint
        assert answer["goodput_MBps"] > 10 and answer["rtt_ms"] > 0 and answer["runs"] == 3
        assert (answer["group"], answer["streams"]) == ("left <-> right", 2)
        assert (answer["low_MBps"] is None) == answer["disturbed"]
        assert len(answer["warnings"]) <= 2 and answer["because"].startswith(answer["bottleneck"])

        results = Path(answer["results"])
        first = set(Store(results).runs()["run_id"])
        words = ("run", answer["study"], "--rounds", "4", "--results", str(results))
        _, complaint = site.finished(site.start(*words))
        assert first < set(Store(results).runs()["run_id"]), complaint
        assert site.dump() == before
