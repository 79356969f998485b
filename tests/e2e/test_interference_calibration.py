"""Bursts are injected into runs on a lab; long ones are flagged, and their process is named."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from netlab.cli.main import main
from netlab.qualify.calibration import interference
from netlab.qualify.calibration.interference import NOTHING, InterferencePlan

pytestmark = [pytest.mark.e2e, pytest.mark.root]


def test_long_bursts_are_flagged_and_their_process_is_named(tmp_path, monkeypatch):
    plan = InterferencePlan(lengths_ms=(300,), runs=4)
    monkeypatch.setattr(interference, "QUICK_INTERFERENCE", plan)
    result = CliRunner().invoke(
        main, ["calibrate", "--interference", "--quick", "--out", str(tmp_path)]
    )
    assert result.exit_code in (0, 1), result.output  # 1 where other work disturbs untouched runs
    found = json.loads((tmp_path / "calibration.json").read_text())["interference"]["samples"]
    assert [s["injected"] for s in found] == [kind.text for kind, _ in plan.order()]
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
