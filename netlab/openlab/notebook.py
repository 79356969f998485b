"""Published figures by name."""

from __future__ import annotations

import pandas as pd

from netlab.openlab import published


def load_published(name: str) -> pd.DataFrame:
    """Load a published data set as a tidy frame.

    Parameters
    ----------
    name : str
        Name of the data set; a wrong one lists those that exist.

    Returns
    -------
    DataFrame
        One row a measurement, units in the column names; a new frame at each call.

    Raises
    ------
    BadInput
        Unknown name, or a file that is not the one described.

    Examples
    --------
    >>> import netlab
    >>> cells = netlab.load_published("openlab-2003")
    >>> one_way = cells[cells["table"] == 2]
    >>> float(one_way["throughput_MBps"].max())
    744.0
    """
    return published.load(name)
