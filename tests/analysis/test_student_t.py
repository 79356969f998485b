"""Quantiles and shares of Student's t distribution."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from netlab.analysis import t_distribution


@pytest.mark.parametrize(("degrees", "t"), [(1, 12.7062), (2, 4.30265), (11, 2.20099)])
def test_it_agrees_with_printed_tables(degrees, t):
    assert t_distribution.t_quantile(degrees, 0.975) == pytest.approx(t, rel=1e-5)
    assert t_distribution.t_cumulative(degrees, t) == pytest.approx(0.975, abs=1e-6)
    assert t_distribution.t_quantile(np.array([degrees]), 0.975) == pytest.approx([t], rel=1e-5)


def test_scipy_is_not_loaded_before_a_first_call():
    code = "import sys, netlab.experiment.campaign, netlab.face; assert 'scipy' not in sys.modules"
    subprocess.run((sys.executable, "-c", code), check=True)
