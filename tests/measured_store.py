"""Results of a campaign that was never measured, with the notebook of each visit."""

from __future__ import annotations

import synthetic
from nbformat import v4, write

from netlab import __version__
from netlab import study as studies
from netlab.results import campaign_files
from netlab.results.store import Store
from netlab.study import Study
from netlab.study.frozen import freeze

CAMPAIGN = "20260105T100000Z"


def campaign_of(directory, study: Study, campaign: str = CAMPAIGN) -> Study:
    """Write a campaign of synthetic runs into a directory of results, and return its study."""
    log = campaign_files.CampaignLog(
        campaign, "key", "2026-01-05T10:00:00+00:00", study.name, study.digest(), __version__
    )
    campaign_files.write_log(directory, log)
    freeze(study, campaign_files.folder(directory, campaign))
    runs = synthetic.runs_of(study).assign(campaign=campaign).astype({"campaign": "string"})
    store = Store(directory)
    (directory / "notebooks").mkdir(exist_ok=True)
    for (block_id, number), part in runs.groupby(["block_id", "round"]):
        name = campaign_files.part_name(campaign, f"{block_id}@r{number}", ())
        store.write(name, part, synthetic.intervals_of(part, study))
        cells = [v4.new_markdown_cell(f"# Block {block_id}, round {number}")]
        write(v4.new_notebook(cells=cells), directory / "notebooks" / f"{name}.ipynb")
    return study


def two_racks(directory) -> Study:
    """The campaign of a study of two cells in three rounds."""
    directory.mkdir(parents=True, exist_ok=True)
    file = synthetic.foreign_file(directory.parents[1])
    return campaign_of(directory, studies.load(file, rounds=3))
