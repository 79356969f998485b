"""The source documents as a notebook shows them: figures, tables, charts, and an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, overload

import pandas as pd

from netlab import bus
from netlab.charts.chart import Chart, Gallery, show
from netlab.errors import require
from netlab.face.notebook import AnsweredView, Shown, made_by
from netlab.files.paths import given_path
from netlab.files.tables import Table
from netlab.openlab import published
from netlab.openlab.figures import claims as claims_charts
from netlab.openlab.figures import gigabit as gigabit_charts
from netlab.openlab.figures import printed as printed_charts
from netlab.openlab.figures import wide_area as wide_area_charts
from netlab.openlab.published import gigabit_layout, host_settings, layout, wide_area_layout
from netlab.openlab.published.claims import check_all
from netlab.openlab.published.claims.notes_values import misprints
from netlab.openlab.published.claims.tables import claims_table, sentence, verdict_counts
from netlab.report.tables import Sentence


class SourceDocument(Shown, ABC):
    """A source document; shows itself as its answer.

    Made by :func:`netlab.document`.
    """

    _sentence: Callable[[], str]

    @property
    def answer(self) -> Sentence:
        """The answer of the document in one computed sentence."""
        return Sentence(self._sentence())

    @abstractmethod
    def _files(self) -> Iterator[tuple[str, Table]]:
        """Name of a file without its suffix, and the table that it gets."""

    def export(self, directory: str | Path) -> Path:
        """Write the tables as CSV and LaTeX.

        Parameters
        ----------
        directory : path-like
            Where to, see :func:`netlab.files.paths.given_path`.

        Returns
        -------
        Path
            The directory.
        """
        place = given_path(directory)
        for name, table in self._files():
            table.export(place / name)
        return place


class OpenlabReport(SourceDocument):
    """The openlab report of 2003: tables 1 to 6 and the charts of its chapter 4."""

    buses = (bus.PCI_X_133, bus.PCI_X_100)
    """Buses of the hosts."""

    _sentence = staticmethod(layout.goal_sentence)

    @property
    def frame(self) -> pd.DataFrame:
        """The figures, one row a measurement."""
        return published.load("openlab-2003")

    @property
    def opening(self) -> Chart:
        """Best cell of each table in per cent of the bus."""
        return show(printed_charts.best_percent_of_bus())

    @property
    def charts(self) -> Gallery:
        """Charts of chapter 4 as they are printed."""
        return printed_charts.chapter_4(printed_charts.PRINTED_CHARTS)

    @property
    def missing_charts(self) -> Gallery:
        """Charts of cells that the report prints in tables alone."""
        return printed_charts.chapter_4(printed_charts.MISSING_CHARTS)

    best_cells = staticmethod(layout.best_cells)

    def tables(self, value: str = "throughput_MBps") -> list[Table]:
        """Tables 1 to 6.

        Parameters
        ----------
        value : {"throughput_MBps", "percent_of_bus"}
            As printed, or over the bandwidth of the slower host's bus.
        """
        return [layout.report_table(number, value) for number in layout.TITLE_OF_TABLE]

    def _files(self) -> Iterator[tuple[str, Table]]:
        of_bus = self.tables("percent_of_bus")
        for number, table, share in zip(layout.TITLE_OF_TABLE, self.tables(), of_bus, strict=True):
            yield f"openlab-2003-table-{number}", table
            yield f"openlab-2003-table-{number}-percent", share
        yield "openlab-2003-best", self.best_cells()


class OpenlabNotes(SourceDocument):
    """The preliminary notes of 2003: three sets of parameters."""

    _sentence = staticmethod(layout.notes_sentence)

    @property
    def frame(self) -> pd.DataFrame:
        """The figures, one row a measurement."""
        return published.load("openlab-2003-preliminary")

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the data set."""
        return tuple(published.describe("openlab-2003-preliminary")["notes"])

    charts = staticmethod(printed_charts.preliminary_by_streams)

    @property
    def burst_efficiency(self) -> Chart:
        """Chart of the share of PCI-X that carries data over the burst size, by a model."""
        return show(printed_charts.burst_efficiency())

    def tables(self) -> list[Table]:
        """Sets 1 to 3."""
        return [layout.preliminary_set(tuning) for tuning in layout.TITLE_OF_SET]

    def misprints(self) -> Table:
        """Stated totals that their streams contradict."""
        title = "Stated totals that their streams contradict"
        return Table(misprints().reset_index(drop=True), title, formats=".0f")

    slots = staticmethod(layout.slot_table)
    against_report = staticmethod(layout.notes_against_report)

    def _files(self) -> Iterator[tuple[str, Table]]:
        for tuning, table in zip(layout.TITLE_OF_SET, self.tables(), strict=True):
            yield f"preliminary-2003-{tuning}", table
        yield "preliminary-2003-slots", self.slots()


class SlacPage(SourceDocument):
    """The page of SLAC: four TCP stacks from Sunnyvale to Geneva."""

    _sentence = staticmethod(wide_area_layout.recovery_sentence)

    @property
    def charts(self) -> Gallery:
        """Window over time after one loss, a chart an MTU."""
        return Gallery.of(*map(wide_area_charts.recovery, wide_area_layout.MTUS_B))

    @property
    def windows_chart(self) -> Chart:
        """Windows of the tests beside the one that the path needs."""
        return show(wide_area_charts.windows_needed_and_given())

    recoveries = staticmethod(wide_area_layout.recovery_table)
    configurations = staticmethod(wide_area_layout.configurations_table)

    def commands(self) -> str:
        """The sender's other settings as commands."""
        return "\n".join(host_settings.commands("slac-2003-settings", host="sender"))

    def wad(self) -> Table:
        """The file ``wad.conf``, as the page gives it once."""
        return Table(published.load("slac-2003-wad"), "wad.conf, as given in full once")

    path = staticmethod(wide_area_layout.path_table)
    windows_each = staticmethod(wide_area_layout.windows_each_table)
    transfer = staticmethod(wide_area_layout.transfer_table)
    windows = staticmethod(wide_area_layout.windows_table)

    def _files(self) -> Iterator[tuple[str, Table]]:
        yield "slac-2003-configurations", self.configurations()
        yield "slac-2003-windows", self.windows()
        yield "slac-2003-recovery", self.recoveries()


class GigabitHosts(SourceDocument):
    """The two articles about gigabit hosts, before and after tuning."""

    _sentence = staticmethod(gigabit_layout.tuning_sentence)

    @property
    def opening(self) -> Chart:
        """Goodput before and after, beside the link."""
        return show(gigabit_charts.before_and_after())

    tuning = staticmethod(gigabit_layout.tuning_table)
    ceilings = staticmethod(gigabit_layout.ceilings_table)
    pcie = staticmethod(gigabit_layout.pcie_table)
    settings = staticmethod(host_settings.listing)

    def buses_here(self) -> str:
        """The bus of each interface of this machine, a line each."""
        names = sorted(path.name for path in Path("/sys/class/net").glob("*/"))
        return "\n".join(f"{name}: {bus.of_interface(name)}" for name in names)

    def _files(self) -> Iterator[tuple[str, Table]]:
        yield "gigabit-tuning", self.tuning()
        yield "gigabit-ceilings", self.ceilings()


DOCUMENTS: dict[str, type[SourceDocument]] = {
    "openlab-report": OpenlabReport,
    "openlab-preliminary": OpenlabNotes,
    "slac": SlacPage,
    "gigabit-hosts": GigabitHosts,
}
"""Documents by name."""


class Claims(AnsweredView, SourceDocument):
    """Every quantitative statement of the documents with its verdict; shows itself as counts.

    Made by :func:`netlab.claims`.

    Attributes
    ----------
    frame : DataFrame
        One row a claim; see :func:`netlab.openlab.published.claims.check_all`.
    """

    def __init__(self) -> None:
        self.frame: pd.DataFrame = check_all()
        super().__init__(self.frame)

    def _sentence(self) -> str:
        return sentence(self.frame)

    @property
    def chart(self) -> Chart:
        """Number of claims by verdict, a bar a document."""
        return show(claims_charts.verdicts(self.frame))

    counts = _table = made_by(verdict_counts)
    table = made_by(claims_table)

    def _files(self) -> Iterator[tuple[str, Table]]:
        yield "claims", self.table()
        yield "claims-verdicts", self.counts()


@overload
def document(name: Literal["openlab-report"]) -> OpenlabReport: ...
@overload
def document(name: Literal["openlab-preliminary"]) -> OpenlabNotes: ...
@overload
def document(name: Literal["slac"]) -> SlacPage: ...
@overload
def document(name: Literal["gigabit-hosts"]) -> GigabitHosts: ...
@overload
def document(name: str) -> SourceDocument: ...
def document(name: str) -> SourceDocument:
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
    require(name, DOCUMENTS, key="document", code="E-FACE-005")
    return DOCUMENTS[name]()


def claims() -> Claims:
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
    return Claims()
