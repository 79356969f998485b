"""A type checker sees the mistakes of a user's file that imports netlab."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

from netlab import wings
from netlab.analysis import cell_texts
from netlab.charts.cells import QUANTITIES

MINE = """\
import netlab

results = netlab.Results("openlab-2003")
results.plot(y="goodput_MBps", hue="tuning", mtu_B=9000)
results.table("mtu_B", "streams", quantity="percent")
results.tables.cells("bottleneck")
netlab.show(results.plot(y="percent_of_bus")).save("mine.png", dpi=300)
netlab.export(netlab.concat({"a": results, "b": "slac-2003"}).rates, "rates.dta")
text: str = netlab.Study.between("left", "right", rate_Mbps=[10, 20], queue_B=9000).to_yaml()
results.plot(y="goodput")  # wrong
results.table("mtu_B", "streams", quantity="MB/s")  # wrong
results.tables.cells("Goodput")  # wrong
netlab.show(results.plot()).save(1)  # wrong
netlab.Study.between("left", "right", streams="4", rate_Mbps="10")  # wrong
results.charts.no_such_chart()  # wrong
results.no_such_thing  # wrong
netlab.Study("openlab-2003").no_such_thing()  # wrong
netlab.load_published(2003)  # wrong
netlab.no_such_thing  # wrong
print(netlab.__version__, netlab.claims, netlab.document, netlab.Fleet, netlab.import_files)
results.long_path, results.published_beside, results.screens, results.then_and_now
netlab.Study("openlab-2003").screen, netlab.Study("openlab-2003").mlrsearch
"""


def test_mistakes_are_named_and_nothing_else(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    argv = (sys.executable, "-m", "mypy", "--follow-imports=silent", "mine.py")
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=240)
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    wrong = {n for n, line in enumerate(MINE.splitlines(), 1) if line.endswith("# wrong")}
    assert lines == wrong, done.stdout


def test_what_wings_offer_is_known_to_a_checker():
    for name in (*wings.results(), *wings.methods()):
        assert f".{name}" in MINE


def test_literals_are_what_is_accepted():
    assert set(get_args(cell_texts.GoodputColumn)) == set(QUANTITIES)
    assert set(get_args(cell_texts.CellText)) == set(cell_texts.QUANTITIES) - {"address"}
