"""The cache of the report that is being made, for the charts of its pages and its notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from netlab.charts.chart import Chart, show
from netlab.files.bounded_json import parse_json
from netlab.files.writing import json_text
from netlab.report.cache import DESIGN, NOTHING_KEPT, Cache
from netlab.study import Study

_ACTIVE: ContextVar[Cache] = ContextVar("report_cache")
_of_process = NOTHING_KEPT


@contextmanager
def using(store: Cache) -> Iterator[None]:
    token = _ACTIVE.set(store)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def use(directory: str) -> None:
    """Share the charts of a report in this process, its kernel; none with an empty text."""
    global _of_process
    _of_process = Cache(Path(directory)) if directory else NOTHING_KEPT


def active() -> Cache:
    return _ACTIVE.get(_of_process)


def of_one(frame: pd.DataFrame, group: str) -> pd.DataFrame:
    """A frame with the results of one group alone, for the charts of that group.

    Of the other rows each design stays once, as it decides about colours and order.
    """
    names = [name for name in DESIGN if name in frame]
    frame = frame[(frame["group"] == group) | ~frame[names].duplicated()]
    own = (frame["group"] == group).to_numpy()
    rows = np.where(own, np.arange(len(frame)), own.argmax())
    return frame.iloc[rows].set_axis(frame.index).assign(**{name: frame[name] for name in names})


def chart_of(draw: Callable[..., Any], *args: Any, **kwargs: Any) -> Chart:
    """The chart of a function of :mod:`netlab.charts`, drawn again only for other arguments."""
    try:
        inputs = [*_parts(args), *_parts(kwargs)]
    except TypeError:  # an argument without a known content
        return show(draw(*args, **kwargs))

    def make() -> str:
        chart = show(draw(*args, **kwargs))
        return json_text({"svg": chart.svg, "alt": chart.alt, "caption": chart.caption})

    return Chart(
        **parse_json(active().text(f"chart {draw.__module__}.{draw.__qualname__}", inputs, make))
    )


def _parts(value: Any) -> Iterator[str | bytes]:
    """The content of an argument: equal for equal arguments, other for all others."""
    if isinstance(value, pd.DataFrame | pd.Series):
        yield f"{type(value).__name__} {value.shape}"
        yield from _parts(dict(value.attrs))
        frame = value.to_frame() if isinstance(value, pd.Series) else value
        yield from _parts(list(frame.columns))
        yield from _column(frame.index.to_frame(index=False))
        yield from _column(frame)
    elif isinstance(value, Study):
        yield f"study {value.model_dump_json()}"
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}"
        for name, item in value.items():
            yield from _parts(name)
            yield from _parts(item)
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__} {len(value)}"
        for item in value:
            yield from _parts(item)
    elif value is None or isinstance(value, str | bytes | int | float | Path | np.generic):
        yield f"{type(value).__name__} {value!r}"
    else:
        raise TypeError(type(value).__name__)


def _column(frame: pd.DataFrame) -> Iterator[str | bytes]:
    for place, name in enumerate(frame.columns):
        values = frame.iloc[:, place]
        yield f"{name!r} {values.dtype!r}"
        if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biufmM":
            yield np.ascontiguousarray(values.to_numpy()).tobytes()
        else:
            yield repr(values.tolist())
