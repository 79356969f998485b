"""Foreign load and traffic are injected into runs on a lab, and flagged with their reason."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.qualify.calibration import interference
from netlab.qualify.calibration.interference import (
    MOVED_PERCENT,
    NOTHING,
    TRAFFIC,
    InterferencePlan,
)
from tests.e2e.conftest import stored

pytestmark = [pytest.mark.e2e, pytest.mark.root]


def test_long_bursts_and_foreign_traffic_are_flagged_with_their_reason(tmp_path, monkeypatch):
    plan = InterferencePlan(lengths_ms=(300,), runs=4, traffic_runs=6)
    monkeypatch.setattr(interference, "QUICK_INTERFERENCE", plan)
    result = CliRunner().invoke(
        main, ["calibrate", "--interference", "--quick", "--out", str(tmp_path)]
    )
    assert result.exit_code in (0, 1), result.output  # 1 where other work disturbs untouched runs
    found = stored(tmp_path, "calibration.json")["interference"]["samples"]
    planned = [*plan.order(), *plan.traffic_order()]
    assert [s["injected"] for s in found] == [kind.text for kind, _ in planned]
    burnt = [s for s in found if s["injected"] == "300 ms on all CPUs"]
    assert len(burnt) == 4
    for sample in burnt:
        assert sample["flagged"], sample
        assert "foreign CPU load" in sample["message"]
        assert all(end - begin >= 0.3 for begin, end in sample["bursts_s"])
    assert any("python" in sample["message"] for sample in burnt)
    loads = {
        name: sum(s["foreign_cpu_percent"] for s in found if s["injected"] == name)
        / sum(s["injected"] == name for s in found)
        for name in (NOTHING, "300 ms on all CPUs")
    }
    assert loads["300 ms on all CPUs"] > loads[NOTHING] + 5
    blasts = [s for s in found if s["injected"] == TRAFFIC]
    assert len(blasts) == 6 and all(s["foreign_B"] > 500_000 for s in blasts)
    moved = [s for s in blasts if s["cost_percent"] > MOVED_PERCENT]
    assert moved and all("foreign traffic" in s["message"] for s in moved), blasts
