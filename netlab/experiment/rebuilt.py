"""Conditions made again from the records of a campaign, whose file of them is lost."""

from __future__ import annotations

from pathlib import Path

from netlab.errors import NetlabError
from netlab.experiment.conditions import Measurer, block_context, combined_conditions
from netlab.files.recorded_facts import provenance_of
from netlab.results import campaign_files
from netlab.results.campaign_files import Conditions
from netlab.results.store import Store
from netlab.study import load_stored
from netlab.study.schedule import rounds


def rebuild(directory: Path) -> dict[Path, Conditions | NetlabError]:
    """Write the conditions of campaigns that lost theirs; by file, these or why there are none."""
    made: dict[Path, Conditions | NetlabError] = {}
    before = Conditions()
    for campaign in campaign_files.ids(directory):
        try:
            before = campaign_files.read_conditions(directory, campaign) or before
        except NetlabError:
            file = campaign_files.conditions_file(directory, campaign)
            try:
                made[file] = before = rebuilt(directory, campaign, before)
            except NetlabError as error:  # such as a study that is lost as well
                made[file] = error
            else:
                campaign_files.write_conditions(directory, campaign, before)
    return made


def rebuilt(directory: Path, campaign: str, before: Conditions) -> Conditions:
    """Conditions of a campaign from the facts that its records hold.

    A record names the hosts' facts and settings as it was made; the first of a block are those that
    the campaign began with. Blocks without records stay as in the campaign before.
    """
    study = load_stored(campaign_files.study_file(directory, campaign))
    own = Store(directory).made_by(campaign)
    first = own.drop_duplicates("block_id").set_index("block_id")
    stored = own.drop_duplicates("run_id").set_index("run_id")["provenance_key"]
    found, measurer = {}, Measurer.this()
    for visit in rounds(study)[0]:
        if visit.block_id in first.index:
            row = first.loc[visit.block_id]
            made = provenance_of(row["provenance"])
            measurer = Measurer(
                int(row["schema_version"]),
                (made["netlab"] or "").partition("+")[0],
                made["agent"] or "",
                made["rule"],
            )
            found[visit.block_id] = block_context(study, visit, made["hosts"], made, measurer)
    conditions = combined_conditions(study, found, before, measurer)
    of_cells = stored.groupby(stored.index.str.rpartition("@").get_level_values(0)).first()
    keys = {**conditions.keys, **{c: k for c, k in of_cells.items() if c in conditions.keys}}
    trials = {key: dict(runs) for key, runs in conditions.trials.items()}
    for run_id, key in stored.items():
        cell = str(run_id).rsplit("@", 2)[0]
        if cell in keys and str(run_id).rpartition("@")[0] not in keys:
            trials.setdefault(keys[cell], {})[str(run_id)] = str(key)
    return Conditions(conditions.contexts, keys, trials)
