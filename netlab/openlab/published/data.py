"""Published data sets as tidy frames, by name."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from netlab.openlab.published.gigabit import tuning
from netlab.openlab.published.printed_files import describe, numbers, read_raw
from netlab.openlab.published.report import preliminary, report
from netlab.openlab.published.wide_area import configurations, path, rapid

_TIDY: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "gigabit-tuning": tuning,
    "openlab-2003": report,
    "openlab-2003-preliminary": preliminary,
    "slac-2003": configurations,
    "slac-2003-path": path,
    "slac-2003-rapid": rapid,
}
_AS_PRINTED = ("gigabit-settings", "slac-2003-settings", "slac-2003-wad")
"""Settings, which stay text."""


def load(name: str) -> pd.DataFrame:
    """A published data set as a tidy frame."""
    raw = read_raw(name)
    if name not in _AS_PRINTED:
        raw = _TIDY.get(name, numbers)(raw)
    return raw[[column["name"] for column in describe(name)["tidy_columns"]]]
