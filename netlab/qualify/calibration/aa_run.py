"""Measure an A/A calibration on a lab of its own, in rounds, under each load."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from netlab.experiment.endpoint import host_facts
from netlab.experiment.lab_pair import SENDER
from netlab.experiment.visit import run_visit, stable_facts
from netlab.lab.lab import Lab
from netlab.qualify.calibration.aa import CELL, AaPlan, AaResult
from netlab.results import Store
from netlab.study.schedule import visits

KEPT = (
    *(*CELL, "round", "order", "goodput_MBps", "flags", "message"),
    *("steal_percent", "foreign_cpu_percent"),
)
"""Columns of a run that the calibration stores."""


def calibrate_aa(
    plan: AaPlan, *, progress: Callable[[dict, int], None] = lambda sample, visits: None
) -> AaResult:
    """Measure identical cells, and compare all pairs.

    Parameters
    ----------
    plan : AaPlan
        Cells, rounds and loads.
    progress : callable
        Called after each visit of a block with its last sample and the number of visits.

    Raises
    ------
    Unsupported
        This machine cannot make a lab.
    HostError
        An end of a path was lost.
    NetlabError
        Several consecutive runs failed.
    """
    samples: list[dict] = []
    study = plan.study()
    # Never a lab that is up already: another one would be a load of its own.
    with Lab.up(study, owned=True) as lab, tempfile.TemporaryDirectory() as place:
        facts = stable_facts(next(iter(host_facts(study, lab=lab).values()))[SENDER])
        for order, load in enumerate(plan.loads):
            ordered = plan.study(order)
            store = Store(Path(place) / load.name)
            with load.injected():
                for visit in visits(ordered):
                    made = run_visit(ordered, visit, store, visit.visit_id, lab=lab)
                    rows = made.runs[list(KEPT)].astype(object)
                    rows = rows.where(rows.notna(), None).assign(load=load.name)
                    rows["started_at"] = made.runs["started_at"].astype(str)
                    samples += rows.to_dict("records")
                    progress(samples[-1], plan.visits)
    return AaResult.of(plan, samples, facts)
