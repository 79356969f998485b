"""What a notebook shows of a long path."""

from __future__ import annotations

from face.views import methods, shown

from netlab.longpath.view import LongPathResults


def test_a_long_path_has_its_charts_and_tables_by_part(lp):
    found = LongPathResults(lp.measured)
    assert len(found.runs_of("comparison", 9000)) == len(lp.part("comparison", 9000)) > 0
    assert found.opening().charts and "slow start" in repr(found.answer)
    title = "Frames of 9000 B"
    assert found.over_time("comparison", title, mtu_B=9000).charts
    assert len(found.summary("comparison", title, mtu_B=9000).charts) == 2
    assert found.recovery_chart("recovery", "A loss").charts
    assert found.sharing("fairness (scaled down)", "Two flows").charts
    assert found.goodput_by_run("configurations", "Plots").charts
    assert found.over_time("no such part", "Nothing").charts == ()
    assert shown(found.recoveries("recovery")) and shown(found.fairness("fairness"))
    for name in methods(found):
        assert shown(getattr(found, name)()), name
    assert shown(found)
