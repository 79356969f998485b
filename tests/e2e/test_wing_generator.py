"""A generator of another package measures like those of netlab: the one that the docs show."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest
import yaml
from foreign_wings import install, shown_files
from studies import two_hosts

STUDY = two_hosts(
    "two",
    {"rate_Mbps": 1000.0},
    **{"factors": {"generator": ["netlab", "qperf"]}, "congestion": "reno"},
    timing={"rounds": 3, "seconds": 1.0},
)


@pytest.mark.timeout(200)
def test_a_generator_that_the_docs_show_measures_beside_netlab(tmp_path):
    (tmp_path / "packages").mkdir()
    env = {
        **install(tmp_path / "packages", shown_files("netlab-qperf")),
        "NETLAB_HOME": str(tmp_path),
    }
    (tmp_path / "two.yml").write_text(yaml.safe_dump(STUDY))

    def netlab(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "netlab", *words]
        return subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True)

    checked = netlab("check", "two.yml")
    assert "qperf: qperf 0" in checked.stdout, checked
    done = netlab("run", "two.yml")
    assert done.returncode == 0, done.stderr
    code = (
        "import netlab\n"
        "r = netlab.Results('two.yml')\n"
        "r.runs.to_csv('runs.csv')\n"
        "r.report('site')\n"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = pd.read_csv(tmp_path / "runs.csv")
    assert runs.groupby("generator").size().to_dict() == {"netlab": 3, "qperf": 3}
    # while others have the processors, what waits at a receiver is read later, faster than the link
    good = runs[runs["flags"].isna()]
    assert set(good["generator"]) == {"netlab", "qperf"}, runs[["generator", "flags", "message"]]
    carried_MBps = 125 * 1448 / 1514
    # programs that others leave little of the processors to are slow, and none is faster
    assert good["goodput_MBps"].between(0.2 * carried_MBps, 1.01 * carried_MBps).all(), good
    assert runs["generator_version"].dropna().str.startswith("qperf 0").any()
    assert "qperf" in (tmp_path / "site" / "index.html").read_text()
