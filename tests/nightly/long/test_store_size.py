"""CPU time and memory of commands by the size of a store: 10^3, 10^4 and 10^5 runs; campaigns."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import large_store
import pytest
from large_store import Size

ROUNDS = (1, 10, 100)
CAMPAIGNS = (50, 500)
LIST = "from netlab.results.campaign_list import summaries; summaries(directory)"
REPORT = (
    "from netlab.report.cache import NOTHING_KEPT; "
    "from netlab.report.publishing import publish; "
    "publish(directory, directory.with_name(directory.name + '-site'), cache=NOTHING_KEPT)"
)
STEPS = {
    "list": LIST,
    "compare": (
        "from netlab.analysis.sides import comparison; "
        "comparison([directory], by='tuning=as-found,full')"
    ),
    "load": "from netlab.analysis.measured import load_measured; load_measured(directory)",
    "report": REPORT,
}
LIMITS = {"list": (10, 400), "compare": (20, 1024), "load": (90, 2560)}
"""CPU time in s and peak memory in MiB with 10^5 runs of 100 samples each."""

OF_CAMPAIGNS = {"list": LIST, "report": REPORT}
"""Steps with stores of campaigns of 4 parts each."""

MEASURE = """
import json, resource, sys
from pathlib import Path
directory = Path(sys.argv[1])
{step}
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
cpu_s = sum(one.ru_utime + one.ru_stime for one in used)
# ru_maxrss begins with the peak of the process that started this one
(own_KiB,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(json.dumps([cpu_s, int(own_KiB) / 1024, used[1].ru_maxrss / 1024]))
"""


def measured(step, directory):
    """CPU time in s of a step with its kernel, and peak memory in MiB; of a report with both."""
    argv = [sys.executable, "-c", MEASURE.format(step=step), str(directory)]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    cpu_s, own_MiB, kernel_MiB = json.loads(done.stdout.splitlines()[-1])
    return cpu_s, own_MiB + (kernel_MiB if step == REPORT else 0)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """A store of 1,000 cells for each number of rounds; by its number of runs."""
    root = tmp_path_factory.mktemp("sizes")
    made = {}
    for rounds in ROUNDS:
        size = Size(rounds=rounds)
        large_store.write(root / str(rounds), size)
        made[size.runs] = root / str(rounds)
    return made


def grown(name, found):
    """Print each figure; return the power of the size that the time grows with."""
    for size, (cpu_s, peak_MiB) in found.items():
        print(f"{name}, {size}: {cpu_s:.1f} s of CPU time, {peak_MiB:.0f} MiB")
    *_, (fewer, (before_s, _)), (most, (cpu_s, _)) = found.items()
    slope = math.log(cpu_s / before_s) / math.log(most / fewer)
    print(f"{name}: time grows as size^{slope:.2f}")
    return slope


@pytest.mark.timeout(3600)  # a report of 10^5 runs takes minutes
@pytest.mark.parametrize("step", STEPS)
def test_time_grows_no_faster_than_the_runs(stores, step):
    found = {runs: measured(STEPS[step], directory) for runs, directory in stores.items()}
    assert grown(f"{step} of runs", found) < 1.1
    if step in LIMITS:
        (*_, (cpu_s, peak_MiB)), (most_s, most_MiB) = found.values(), LIMITS[step]
        assert (cpu_s < most_s, peak_MiB < most_MiB) == (True, True), found
    if step == "report":
        for runs, directory in stores.items():
            site = directory.with_name(f"{directory.name}-site")
            size_MB = sum(f.stat().st_size for f in site.rglob("*") if f.is_file()) / 1e6
            print(f"site of {runs} runs: {size_MB:.0f} MB")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", OF_CAMPAIGNS)
def test_time_grows_no_faster_than_the_campaigns(tmp_path_factory, step):
    root, found = tmp_path_factory.mktemp(step), {}
    for campaigns in CAMPAIGNS:
        directory = root / str(campaigns)
        large_store.write(directory, Size(1, 1, 2, campaigns, 100))
        found[campaigns] = measured(OF_CAMPAIGNS[step], directory)
    assert grown(f"{step} of campaigns", found) < 1.1
