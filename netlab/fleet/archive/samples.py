"""Quantiles of interval samples, cell by cell, study after study: memory is that of one study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from netlab.fleet.archive import manifest as kept
from netlab.fleet.archive.cells import GOOD, KEYS, WHOLE_RATES
from netlab.fleet.archive.database import files_of, quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from netlab.fleet.archive.archive import Archive

QUANTILES = {"p01_MBps": 0.01, "p25_MBps": 0.25, "median_MBps": 0.5, "p75_MBps": 0.75}
QUANTILES |= {"p99_MBps": 0.99}

_QUOTED = ", ".join(f'"{key}"' for key in KEYS)
_WANTED = f"""
CREATE OR REPLACE TEMP TABLE wanted AS
SELECT record, dense_rank() OVER (ORDER BY {_QUOTED}) AS cell, {_QUOTED}
FROM standing_runs WHERE {GOOD} AND study = {{study}}
"""
_QUANTILES = f"""
WITH rates AS ({WHOLE_RATES})
SELECT cell, count(*) AS samples, quantile_cont(rate_MBps, {{levels}}) AS quantiles
FROM rates JOIN wanted USING (record) GROUP BY cell
"""


def archive_samples(
    archive: Archive, connection: DuckDBPyConnection, studies: Sequence[str]
) -> pd.DataFrame:
    """Quantiles of the samples of the valid runs in the view ``standing_runs``."""
    frames = []
    for study in studies:
        connection.execute(_WANTED.format(study=quoted(study)))
        files = files_of(archive.files(kept.INTERVALS, study))
        levels = list(QUANTILES.values())
        found = connection.execute(_QUANTILES.format(files=files, levels=levels)).df()
        keys = connection.execute(f"SELECT DISTINCT cell, {_QUOTED} FROM wanted").df()
        values = pd.DataFrame(found.pop("quantiles").tolist(), columns=list(QUANTILES))
        whole = keys.merge(pd.concat([found, values], axis=1), on="cell").sort_values("cell")
        frames.append(whole.drop(columns="cell"))
    return pd.concat(frames, ignore_index=True)
