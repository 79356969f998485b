"""Tables of results, as a notebook shows them."""

from __future__ import annotations

from netlab.analysis.measured import Measured
from netlab.files.tables import Table
from netlab.report import factors, provenance, tables
from netlab.report.provenance import Provenance
from netlab.report.tables import Sentence, Tables


class ResultTables:
    """Tables of results; a sentence stands in place of an empty one.

    Made by :attr:`netlab.Results.tables`. The ``frame`` of a table has its texts, its ``data`` the
    unrounded numbers.

    Parameters
    ----------
    measured : Measured
        The results.

    Examples
    --------
    >>> import netlab
    >>> tables = netlab.Results("openlab-2003").tables
    >>> tables.cells("percent").tables[0].data["percent_of_bus"].notna().all()
    np.True_
    >>> tables.missing()
    Every cell of the design has a valid run.
    """

    def __init__(self, measured: Measured):
        self._measured = measured

    def summary(self) -> Table:
        """Numbers of runs, cells and rounds, and the highest cell."""
        return tables.summary(self._measured)

    def groups(self) -> Table:
        """Groups: hosts, bus, and the best cell of each."""
        return tables.groups(self._measured)

    def cells(self, quantity: str = "goodput") -> Tables:
        """Cells of every group: tuning and MTU by streams.

        Parameters
        ----------
        quantity : {"goodput", "percent", "both", "bottleneck"}
            MB/s, per cent of the bus, both, or what bound the runs.
        """
        return tables.stack(self._measured, quantity)

    def factors(self) -> Table:
        """Factors that vary, with their levels."""
        return factors.levels(self._measured)

    def by_factors(self, quantity: str = "goodput") -> Tables:
        """Cells by the two factors with the most levels, for each combination of the others.

        Parameters
        ----------
        quantity : {"goodput", "percent", "both"}
            MB/s, per cent of the bus, or both.
        """
        return factors.stack(self._measured, quantity)

    def missing(self) -> Table | Sentence:
        """Cells without a valid run, with the reason."""
        return tables.missing(self._measured)

    def precision(self) -> Tables:
        """Precision of the cells, and each that is less precise than asked."""
        return tables.precision(self._measured)

    def effects(self) -> Table | Sentence:
        """Ratio of goodput for each step of each factor, pooled over the cases."""
        return tables.effects(self._measured)

    def target(self) -> Table | Sentence:
        """Target of each group, with the verdict."""
        return tables.target(self._measured)

    def flagged(self) -> Table | Sentence:
        """Flagged runs, with the reason."""
        return tables.flagged(self._measured)

    def unsupported(self) -> Table | Sentence:
        """Knobs that a host lacks, with the reason."""
        return tables.unsupported(self._measured)

    def stability(self) -> Table:
        """Tests for drift, a step and carry-over from the run before."""
        return tables.stability(self._measured)

    def noise(self) -> Table:
        """Steal, foreign load, drops, and the spread over rounds."""
        return tables.noise(self._measured)

    def overhead(self) -> Table:
        """Time of runs outside warm-up and window, by block."""
        return tables.overhead(self._measured)

    def provenance(self) -> Provenance:
        """Machines, versions, digests, settings and times of the measurement."""
        return provenance.provenance(self._measured)
