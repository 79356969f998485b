"""The report of SLAC's study, whose pages speak of 183 ms and 2003.

Any other study of a long path has the pages of its cells and factors.
"""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.analysis.own_report import OwnReport
from netlab.charts.chart import Gallery
from netlab.files.tables import Sentence, Table
from netlab.longpath import charts, tables
from netlab.longpath.analysis import samples_of
from netlab.longpath.series import is_traced


def _tables(m: Measured) -> tuple[Table | Sentence, ...]:
    return tables.opening(samples_of(m))


def _picture(m: Measured) -> Gallery:
    return charts.opening(samples_of(m))


REPORT = OwnReport(
    applies=is_traced,
    per_MBps=8.0,
    unit="Mb/s",
    notebook="17-slac-measured.ipynb",
    note="Goodput in Mb/s = 10⁶ bits of payload per second, after slow start.",
    tables=_tables,
    picture=_picture,
)
