"""Two hosts reached over SSH that are containers of one kernel are one machine."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import yaml
from faults.site import ADDRESSES, standing

BURN = "import time; end = time.monotonic() + 120\nwhile time.monotonic() < end: pass"


def test_netlab_is_not_foreign_to_itself_on_hosts_of_one_kernel(tmp_path):
    """Any foreign load flags a run here, so that its message names the largest foreign process."""
    with standing(tmp_path) as site:
        study = yaml.safe_load(site.study.read_text())
        study |= {"noise": {"foreign_cpu_percent": 0, "retries": 0, "wait": 1}, "streams": [4]}
        site.study.write_text(yaml.safe_dump(study))
        checked, complaint = site.start("check", str(site.study)).communicate(timeout=60)
        assert "path cable: both ends are one machine" in checked, complaint
        burners = [subprocess.Popen((sys.executable, "-c", BURN)) for _ in range(4)]
        try:
            measuring, own = site.measure(seconds=1.0), set()
            while measuring.poll() is None:
                own |= {pid for name in ADDRESSES for pid in site.pids(name)}
                time.sleep(0.05)
            _, complaint = site.finished(measuring)
        finally:
            for burner in burners:
                burner.kill()
                burner.wait()
        row = site.rows().iloc[0]
        assert "interference" in row["flags"], row["message"]
        assert "most of it by" in row["message"] and "other programs use" in complaint
        named = set(map(int, re.findall(r"process (\d+)", row["message"] + complaint)))
        assert named and own and not named & own, complaint  # another test's may be named
        # the CPUs of one machine had that at most, and its copies are the ceiling of both ends
        assert 0 < row["foreign_cpu_percent"] <= 100 and row["ceiling_kind"] == "memory"
