"""Published figures by name, the documents that have them, and what they state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

import pandas as pd

from netlab.errors import require
from netlab.openlab import published

if TYPE_CHECKING:
    from netlab.openlab import documents


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


@overload
def document(name: Literal["openlab-report"]) -> documents.OpenlabReport: ...
@overload
def document(name: Literal["openlab-preliminary"]) -> documents.OpenlabNotes: ...
@overload
def document(name: Literal["slac"]) -> documents.SlacPage: ...
@overload
def document(name: Literal["gigabit-hosts"]) -> documents.GigabitHosts: ...
@overload
def document(name: str) -> documents.SourceDocument: ...
def document(name: str) -> documents.SourceDocument:
    """Find a source document by name: its tables, charts and answer.

    Parameters
    ----------
    name : {"openlab-report", "openlab-preliminary", "slac", "gigabit-hosts"}
        Name of the document; the last are two articles.

    Returns
    -------
    SourceDocument
        One of the classes of :mod:`netlab.openlab.documents`. Its methods give tables; ``opening``
        and ``charts`` are finished charts; ``export`` writes the tables as CSV and LaTeX.

    Raises
    ------
    BadInput
        Unknown name.

    Examples
    --------
    >>> import netlab
    >>> report = netlab.document("openlab-report")
    >>> report.answer
    The goal of 80 % of PCI-X, 851 MB/s from Linux64 to Linux64, was not met: ...
    >>> len(report.tables())
    6
    """
    from netlab.openlab.documents import DOCUMENTS

    require(name, DOCUMENTS, key="document", code="E-FACE-005")
    return DOCUMENTS[name]()


def claims() -> documents.Claims:
    """Recompute every quantitative statement of the documents from their own data.

    Returns
    -------
    Claims
        Shows itself as the number of claims by document and verdict; its ``frame`` has one row a
        claim.

    Examples
    --------
    >>> import netlab
    >>> found = netlab.claims()
    >>> found.frame["verdict"].value_counts().to_dict()["contradicted"]
    13
    """
    from netlab.openlab.documents import Claims

    return Claims()
