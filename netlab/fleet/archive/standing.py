"""The record that counts: of several records of a run the last one of a campaign, as in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from netlab.fleet.archive import manifest as kept
from netlab.fleet.archive.database import files_of, quoted
from netlab.fleet.archive.manifest import Manifest
from netlab.results import campaigns
from netlab.results.store import IMPORTED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_QUERY = """
WITH runs AS (
  SELECT record, source, part, run_id, started_at, "order"
  FROM read_parquet({files}, union_by_name = true, hive_partitioning = false)
), belongs AS (
  SELECT runs.*, archived.campaign, archived.latest FROM runs
  JOIN archived_campaigns AS archived USING (source)
  JOIN archived_parts AS named USING (source, part)
  LEFT JOIN adopted_runs AS adopted ON adopted.source = runs.source
    AND adopted.campaign = archived.campaign AND adopted.part = runs.part
    AND adopted.run_id = runs.run_id
  WHERE archived.campaign = '' OR named.campaign = archived.campaign
    OR starts_with(runs.part, {imported}) OR adopted.run_id IS NOT NULL
)
SELECT record, source, campaign, latest FROM belongs
QUALIFY row_number() OVER (
  PARTITION BY source, campaign, run_id ORDER BY started_at DESC, "order" DESC, part DESC,
  record DESC
) = 1
ORDER BY record
"""


def write_standing(connection: DuckDBPyConnection, directory: Path, manifest: Manifest) -> None:
    """Write the records that count in each campaign: ``record source campaign latest``.

    A store without campaigns has one with an empty name. ``latest`` is true for the latest campaign
    of a store.
    """
    if not manifest.parts:
        return
    named = [
        (source, part, campaigns.campaign_of(part))
        for source, store in manifest.stores.items()
        for part in store.parts
    ]
    in_stores = [
        (source, campaign, campaign == (list(store.campaigns) or [""])[-1])
        for source, store in manifest.stores.items()
        for campaign in store.campaigns or [""]
    ]
    adopted = [
        (source, campaign, part, run_id)
        for source, store in manifest.stores.items()
        for campaign, parts in store.campaigns.items()
        for part, run_ids in parts.items()
        for run_id in run_ids
    ]
    frames = {
        "archived_parts": pd.DataFrame(named, columns=["source", "part", "campaign"]),
        "archived_campaigns": pd.DataFrame(in_stores, columns=["source", "campaign", "latest"]),
        "adopted_runs": pd.DataFrame(
            adopted, columns=["source", "campaign", "part", "run_id"], dtype="string"
        ),
    }
    for name, frame in frames.items():
        connection.register(name, frame)
    files = [
        kept.part_file(directory, kept.RUNS, part.study, name)
        for name, part in manifest.parts.items()
    ]
    name = manifest.new_part()
    path = kept.standing_file(directory, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    query = _QUERY.format(files=files_of(files), imported=quoted(IMPORTED))
    connection.execute(
        f"COPY ({query}) TO {quoted(str(partial))} (FORMAT parquet, COMPRESSION zstd)"
    )
    for each in frames:
        connection.unregister(each)
    kept.publish(partial, path)
    manifest.standing = name
