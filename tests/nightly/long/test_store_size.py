"""CPU time and memory of commands by the size of a store: 10^3, 10^4 and 10^5 runs."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import large_store
import pytest
from large_store import Size

ROUNDS = (1, 10, 100)
STEPS = {
    "list": "from netlab.results.store import summaries; summaries(directory)",
    "compare": (
        "from netlab.analysis.sides import comparison; "
        "comparison([directory], by='tuning=as-found,full')"
    ),
    "load": "from netlab.analysis.measured import load_measured; load_measured(directory)",
}
LIMITS = {"list": (10, 400), "compare": (20, 1024), "load": (90, 2560)}
"""CPU time in s and peak memory in MiB with 10^5 runs of 100 samples each."""

MEASURE = """
import json, resource, sys
from pathlib import Path
directory = Path(sys.argv[1])
{step}
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
"""


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


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("step", STEPS)
def test_time_grows_no_faster_than_the_runs(stores, step):
    found = {}
    for runs, directory in stores.items():
        script = MEASURE.format(step=STEPS[step])
        argv = [sys.executable, "-c", script, str(directory)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        found[runs] = json.loads(done.stdout.splitlines()[-1])
        print(f"{step}, {runs} runs: {found[runs][0]:.1f} s of CPU time, {found[runs][1]:.0f} MiB")
    *_, (fewer, (before_s, _)), (most, (cpu_s, peak_MiB)) = found.items()
    slope = math.log(cpu_s / before_s) / math.log(most / fewer)
    print(f"{step}: time grows as runs^{slope:.2f}")
    most_s, most_MiB = LIMITS[step]
    assert slope < 1.1
    assert (cpu_s < most_s, peak_MiB < most_MiB) == (True, True), found
