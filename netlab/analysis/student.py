"""Student's t distribution. scipy takes 0.3 s to load, so only a first call loads it."""

from __future__ import annotations

import numpy as np


def quantile(degrees: float | np.ndarray, p: float) -> float | np.ndarray:
    """Value below which a share `p` of the distribution lies."""
    from scipy.special import stdtrit

    return stdtrit(degrees, p)


def cumulative(degrees: float, t: float) -> float:
    """Share of the distribution below `t`."""
    from scipy.special import stdtr

    return float(stdtr(degrees, t))
