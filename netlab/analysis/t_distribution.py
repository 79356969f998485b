"""Student's t distribution. scipy takes 0.3 s to load, so only a first call loads it."""

from __future__ import annotations

import numpy as np


def t_quantile(degrees: float | np.ndarray, p: float) -> float | np.ndarray:
    """Value below which a share `p` of the distribution lies."""
    from scipy.special import stdtrit  # 0.3 s, as above

    return stdtrit(degrees, p)


def t_cumulative(degrees: float, t: float) -> float:
    from scipy.special import stdtr  # 0.3 s, as above

    return float(stdtr(degrees, t))
