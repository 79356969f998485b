"""A campaign waits for quiet hosts before it measures."""

from __future__ import annotations

import subprocess
import sys

import yaml

from netlab.results.store import Store
from tests.e2e.conftest import machine_untouched, run_netlab, small_study

__all__ = ["machine_untouched"]

BURN_S = 12.0


def test_hosts_are_waited_for_until_the_other_work_ends(tmp_path, machine_untouched):
    content = small_study("noisy")
    content |= {key: content[key][:1] for key in ("groups", "tunings", "streams")}
    content["noise"] = {"foreign_cpu_percent": 20.0, "retries": 1, "wait": "2min"}
    (tmp_path / "noisy.yml").write_text(yaml.safe_dump(content, sort_keys=False))
    burner = f"import time; end = time.monotonic() + {BURN_S}\nwhile time.monotonic() < end: pass"
    burners = [subprocess.Popen((sys.executable, "-c", burner)) for _ in range(2)]
    try:
        done = run_netlab(
            "run",
            str(tmp_path / "noisy.yml"),
            *("--results", str(tmp_path / "results")),
            timeout_s=200,
        )
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
    assert done.returncode == 0, done.stderr
    assert "waiting for quiet, 120 s at most" in done.stderr
    assert "other programs use" in done.stderr
    assert Store(tmp_path / "results").runs(superseded=True)["flags"].tolist() == [""]
