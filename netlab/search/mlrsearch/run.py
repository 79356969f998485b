"""A whole search: every cell of datagrams of a study, each trial a record of a campaign."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

import pandas as pd

from netlab.errors import NetlabError, check
from netlab.experiment.campaign_record import CampaignRecord, check_study, exclusive, open_record
from netlab.experiment.found_facts import host_facts
from netlab.experiment.study_hosts import study_lab
from netlab.experiment.visit import run_visit
from netlab.files.blocked_loop import interrupts_raise
from netlab.files.recorded_facts import BlockConditions
from netlab.files.tables import csv_of
from netlab.files.writing import write_text
from netlab.search.mlrsearch.bounds import DOCUMENT
from netlab.search.mlrsearch.search import COUNTS, CellSearch, Goals
from netlab.study import Study
from netlab.study.groups import FILL_PACKET, sends_datagrams
from netlab.study.keys import provenance_key
from netlab.study.schedule import Run, Visit, rounds


def require_library() -> None:
    if importlib.util.find_spec("MLRsearch") is None:
        raise NetlabError(
            "the search is MLRsearch's, which is not installed: pip install 'netlab[mlrsearch]', "
            "or `uv sync --extra mlrsearch` in a checkout",
            code="E-AUTOTUNE-023",
        )


def searched(study: Study) -> tuple[Visit, ...]:
    """The blocks of a study with their cells of datagrams, each cell once."""
    each = [
        visit.only({run.run_id for run in visit.runs if sends_datagrams(run.group.generator)})
        for visit in rounds(study)[0]
    ]
    runs = list(chain.from_iterable(visit.runs for visit in each))
    text = "no group of it sends datagrams: a search takes `generator: udp`"
    check(runs, "study", study.name, text, "E-AUTOTUNE-024")
    text = "is what a search varies: give the highest rate in `socket.pacing_MBps`"
    levels = {name for run in runs for name, _ in run.levels}
    check("pacing_MBps" not in levels, "factors.pacing_MBps", None, text, "E-AUTOTUNE-025")
    text = "a search counts datagrams of one size: give it, such as 1472"
    sizes = {run.group.record_length_B for run in runs}
    check(FILL_PACKET not in sizes, "record_length_B", None, text, "E-AUTOTUNE-029")
    text = "a search does not take factors that a person sets; leave them out"
    check(not study.outer, "outer", ", ".join(study.outer), text, "E-AUTOTUNE-026")
    return tuple(visit for visit in each if visit.runs)


@dataclass
class BlockSearch:
    """Searches the cells of a block while its visit is measured."""

    study: Study
    visit: Visit
    goals: Goals
    record: CampaignRecord
    say: Callable[[str], None]
    rows: list[dict] = field(default_factory=list)

    def __post_init__(self) -> None:
        records = self.record.store.records(self.visit.block_id)
        good = records[records["flags"] == ""].to_dict("records")
        self._valid = {(one["provenance_key"], one["run_id"]): one for one in good}

    def __call__(self, context: BlockConditions, measure: Callable[[Run], dict]) -> None:
        for run in self.visit.runs:
            cell_key = provenance_key(self.study, self.visit, run, context)
            take = partial(self._taken, context, measure, cell_key)
            conditions = {"campaign": self.record.log.campaign, "cell_key": cell_key}
            found = CellSearch(self.study, run, self.goals, take).rows()
            self.rows += [row | conditions for row in found]

    def _taken(
        self, context: BlockConditions, measure: Callable[[Run], dict], cell_key: str, run: Run
    ) -> dict:
        """The record of a trial: the stored one, if it was made under the same conditions."""
        key = provenance_key(self.study, self.visit, run, context)
        self.record.expect(run.run_id, key, cell_key=cell_key)
        stored = self._valid.get((key, run.run_id))
        if stored is not None:
            return stored
        record = measure(run)
        shown = (*COUNTS, "lost_percent")
        text = record["flags"] or ", ".join(f"{name} {record.get(name)}" for name in shown)
        self.say(f"{run.run_id}, {run.study(self.study).timing.seconds:g} s: {text}")
        return record


def mlrsearch(
    study: Study, goals: Goals, directory: Path, *, say: Callable[[str], None]
) -> pd.DataFrame:
    """Search every cell of datagrams, and write the bounds; a valid trial is not repeated."""
    require_library()
    goals.config(1.0)  # refuse wrong goals before a host is reached
    visits, rows = searched(study), []
    with interrupts_raise(), exclusive(directory), study_lab(study) as lab:
        check_study(study, directory)
        record = open_record(study, directory, host_facts(study, lab=lab), lab)
        for visit in visits:
            search = BlockSearch(study, visit, goals, record, say)
            request = record.request(visit, lab=lab, wait_s=study.noise.wait)
            changed = run_visit(study, request, lab=lab, choose=search).changed
            if changed:
                text = f"settings changed during the search: {'; '.join(changed)}; search again"
                raise NetlabError(text, code="E-AUTOTUNE-028")
            rows += search.rows
            bounds = pd.DataFrame(rows)
            write_text(directory / DOCUMENT, csv_of(bounds))
    return bounds
