"""Runs end in time on a busy machine: 500 of them, where the quick tests make 20."""

from __future__ import annotations

import pytest
from native.late_ends import late_ends_ms


@pytest.mark.parametrize("streams", [20, 100])
def test_runs_end_in_time_on_a_busy_machine(agent, streams):
    assert late_ends_ms(agent, streams, runs=250)[-1] < 50
