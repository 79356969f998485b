"""An archive of many campaigns and studies, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.analysis.compare import SAME_WITHIN_PERCENT
from netlab.errors import BadInput
from netlab.fleet.archive import manifest as kept
from netlab.fleet.archive.cells import archive_cells
from netlab.fleet.archive.comparison import compare_sides
from netlab.fleet.archive.database import database, files_of, quoted
from netlab.fleet.archive.manifest import Manifest
from netlab.fleet.archive.samples import archive_samples

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_VIEWS = """
CREATE OR REPLACE TEMP VIEW all_runs AS SELECT * FROM
  read_parquet({runs}, union_by_name = true, hive_partitioning = true, hive_types_autocast = false);
CREATE OR REPLACE TEMP VIEW standing AS SELECT * FROM read_parquet({standing});
CREATE OR REPLACE TEMP VIEW standing_runs AS
SELECT all_runs.* FROM all_runs JOIN standing USING (record) WHERE standing.latest
"""


@dataclass(frozen=True)
class Archive:
    """The records of many stores, in one directory; see :mod:`netlab.fleet.archive.compaction`.

    Parameters
    ----------
    directory : Path
        Made by :func:`netlab.fleet.archive.compaction.compact`.
    """

    directory: Path

    @cached_property
    def manifest(self) -> Manifest:
        """Content of the archive when it was first asked for."""
        return kept.read_manifest(self.directory)

    @property
    def studies(self) -> list[str]:
        """Names of its studies, sorted."""
        return sorted({part.study for part in self.manifest.parts.values()})

    def files(self, table: str, study: str | None = None) -> list[Path]:
        """Files of the parts of a study, or of all.

        Raises
        ------
        BadInput
            The archive has no such study, or nothing.
        """
        found = [
            kept.part_file(self.directory, table, part.study, name)
            for name, part in self.manifest.parts.items()
            if study in (None, part.study)
        ]
        if not found:
            raise BadInput(
                f"has no runs of this study; it has {', '.join(self.studies) or 'none'}",
                where=str(self.directory),
                key="study",
                value=study,
                code="E-FLEET-046",
            )
        return found

    @contextmanager
    def query(self, study: str | None = None) -> Iterator[DuckDBPyConnection]:
        """Open a connection with the runs that count, of a study or all: view ``standing_runs``.

        ``all_runs`` also has superseded ones. Columns are those of the runs table, ``record``,
        ``source`` (the store) and ``part``. ``standing`` has the records of each campaign.
        """
        runs = files_of(self.files(kept.RUNS, study))
        standing = quoted(str(kept.standing_file(self.directory, self.manifest.standing)))
        with database(self.directory) as connection:
            connection.execute(_VIEWS.format(runs=runs, standing=standing))
            yield connection

    def cells(self, study: str | None = None, *, confidence: float = 0.95) -> pd.DataFrame:
        """Cells of a study, or of all.

        Parameters
        ----------
        study : str, optional
            Its name.
        confidence : float
            Nominal level of the intervals, made on logarithms over rounds.

        Returns
        -------
        DataFrame
            One row a cell of a store: ``study source sender receiver`` and
            :data:`netlab.analysis.cells.CELL_COLUMNS`. Flagged runs are left out.
        """
        with self.query(study) as connection:
            return archive_cells(self, connection, confidence)

    def samples(self, study: str | None = None) -> pd.DataFrame:
        """Distribution of the interval samples of each cell of a study, or of all.

        Returns
        -------
        DataFrame
            One row a cell of a store: ``study source sender receiver``,
            :data:`netlab.analysis.cells.CELL_KEYS`, number of ``samples`` and their
            quantiles, MB/s: ``p01_MBps`` to ``p99_MBps``. A sample is summed over streams and
            directions.
        """
        with self.query(study) as connection:
            return archive_samples(self, connection, self.studies if study is None else [study])

    def compare(
        self,
        by: str,
        a: str,
        b: str,
        *,
        study: str | None = None,
        confidence: float = 0.95,
        same_within_percent: float = SAME_WITHIN_PERCENT,
    ) -> pd.DataFrame:
        """Compare two levels of a column over all cells that have both.

        Parameters
        ----------
        by : str
            ``campaign``, ``study``, ``source``, or a factor such as ``tuning``.
        a, b : str
            Its levels. A campaign is an id, or ``first`` or ``latest`` of each store.
        study : str, optional
            Compare within this study alone.
        confidence : float
            Level at which all intervals hold at once.
        same_within_percent : float
            Bound of *the same*.

        Returns
        -------
        DataFrame
            One row a cell: its columns, ``ratio`` (B / A) with ``low`` and ``high``, ``p_holm``,
            ``verdict``, ``ranked``, ``reason``, ``paired`` (within rounds), ``n_a n_b a_MBps b_MBps
            a_half_percent b_half_percent``. A cell that is less precise than its study asks is not
            ranked. See :mod:`netlab.analysis.compare`.

        Raises
        ------
        BadInput
            The column cannot be compared.
        NetlabError
            No cell has both levels.
        """
        with self.query(study) as connection:
            return compare_sides(
                connection,
                by,
                (a, b),
                self._asked(),
                confidence=confidence,
                same_within_percent=same_within_percent,
            )

    def _asked(self) -> pd.DataFrame:
        """Level and precision that the study of each campaign of each store asks for."""
        rows = [
            (source, campaign, *asked)
            for source, store in self.manifest.stores.items()
            for campaign, asked in store.asked.items()
        ]
        frame = pd.DataFrame(rows, columns=["source", "counts_in", "level", "half_percent"])
        texts = {"source": "string", "counts_in": "string"}
        return frame.astype(texts | {"level": float, "half_percent": float})
