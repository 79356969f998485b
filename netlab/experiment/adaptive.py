"""Selection of the cells that continue after an interim analysis, within the remaining budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from netlab.analysis.cell_precision import nominal_level, precise, rounds_needed
from netlab.analysis.cells import valid
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.study import Study
from netlab.study.durations import VISIT_S, run_s
from netlab.study.schedule import Visit, cell_of


@dataclass(frozen=True)
class Look:
    """The test of all cells after a round."""

    round: int
    cells: int
    reached: int
    going: frozenset[str]
    left_out: int = 0

    @property
    def text(self) -> str:
        text = f"after round {self.round}, {self.reached} of {self.cells} cells are precise enough"
        if self.going:
            text += f", {len(self.going)} go on"
        if self.left_out:
            text += f", {self.left_out} stop because the budget is short"
        return text

    def record(self) -> dict[str, int]:
        return {**vars(self), "going": len(self.going)}


def look(
    study: Study,
    runs: pd.DataFrame,
    round: int,
    first: Sequence[Visit],
    more_rounds: int = 0,
    left_s: float = math.inf,
) -> Look:
    """Test every cell after a round, and choose those that go on."""
    precision, level = study.precision, nominal_level(study)
    if precision is None:
        raise ValueError("a study without a precision has no looks")
    planned = {run.cell_id: visit.block_id for visit in first for run in visit.runs}
    takes_s = {run.cell_id: run_s(study, run) for visit in first for run in visit.runs}
    good = valid(runs[runs["round"] <= round])
    values = {
        str(cell): part["goodput_MBps"].to_numpy(dtype=float)
        for cell, part in good.groupby(good["run_id"].map(cell_of))
    }
    needs = {}
    for cell in planned:
        goodputs = values.get(cell, np.empty(0))
        if not precise(goodputs, precision, level):
            need = rounds_needed(goodputs, precision.half_width_percent, level)
            # a cell without an interval comes first: it needs the rounds that make one
            needs[cell] = LEAST_ROUNDS - len(goodputs) if math.isnan(need) else need
    going, cost_s, blocks = set(), 0.0, set()
    for cell in sorted(needs, key=lambda cell: (needs[cell], cell)):
        more_s = (takes_s[cell] + VISIT_S * (planned[cell] not in blocks)) * more_rounds
        if cost_s + more_s <= left_s:
            going.add(cell)
            blocks.add(planned[cell])
            cost_s += more_s
    reached = len(planned) - len(needs)
    return Look(round, len(planned), reached, frozenset(going), len(needs) - len(going))
