"""The source documents' figures as tidy frames, one row a measurement.

Each data set is a CSV file of values exactly as printed, with a JSON description beside it
(columns, units, document, section, table, digest). `load` reads the printed text into numbers;
it makes no corrections.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from netlab.openlab.published import data
from netlab.openlab.published.data import describe, names, numbers, read_raw

__all__ = ["describe", "load", "names", "read_raw"]

_TIDY: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "gigabit-tuning": data.tuning,
    "openlab-2003": data.report,
    "openlab-2003-preliminary": data.preliminary,
    "slac-2003": data.configurations,
    "slac-2003-path": data.path,
    "slac-2003-rapid": data.rapid,
}
_AS_PRINTED = ("gigabit-settings", "slac-2003-settings", "slac-2003-wad")
"""Settings, which stay text."""


def load(name: str) -> pd.DataFrame:
    """A published data set as a tidy frame."""
    raw = read_raw(name)
    if name not in _AS_PRINTED:
        raw = _TIDY.get(name, numbers)(raw)
    return raw[[column["name"] for column in describe(name)["tidy_columns"]]]
