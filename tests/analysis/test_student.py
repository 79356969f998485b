"""Quantiles and shares of Student's t distribution."""

import subprocess
import sys

import numpy as np
import pytest

from netlab.analysis import student


@pytest.mark.parametrize(("degrees", "t"), [(1, 12.7062), (2, 4.30265), (11, 2.20099)])
def test_it_agrees_with_printed_tables(degrees, t):
    assert student.quantile(degrees, 0.975) == pytest.approx(t, rel=1e-5)
    assert student.cumulative(degrees, t) == pytest.approx(0.975, abs=1e-6)


def test_degrees_may_be_an_array():
    assert np.round(student.quantile(np.array([1, 2]), 0.975), 2).tolist() == [12.71, 4.3]


def test_scipy_is_not_loaded_before_a_first_call():
    code = "import sys, netlab.experiment.campaign, netlab.face; assert 'scipy' not in sys.modules"
    subprocess.run((sys.executable, "-c", code), check=True)
