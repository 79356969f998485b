"""Calibrate netlab's core on paths of known rates: measure each cell and its error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from netlab.files.tables import Table
from netlab.qualify.calibration.one_table import OneTable
from netlab.qualify.calibration.rate_cells import (
    CONGESTION,
    RateCell,
    RatePlan,
    calibration_study,
)
from netlab.qualify.calibration.stream import CalibratedPath, Stream, measure_cells
from netlab.qualify.calibration.verdicts import (
    DISTURBED,
    EVERY_TRY,
    NOT_MEASURED,
    OUTSIDE,
    RATE_HEADS,
    WITHIN,
    all_flags,
    too_few,
    undisturbed,
)

CELL_COLUMNS = (
    *("rate_Mbps", "mtu_B", "offloads", "expected_MBps", "goodput_MBps", "error_percent"),
    *("least_percent", "greatest_percent", "within_percent", "verdict", "runs", "failed", "flags"),
)


@dataclass(frozen=True, eq=False)
class Calibration(OneTable):
    """The measurements and verdicts of a rate calibration."""

    plan: RatePlan

    NAME: ClassVar = "calibration"
    ROWS: ClassVar = "cells"

    @property
    def verdicts(self) -> list[str]:
        """The verdict of every cell."""
        return list(self.cells["verdict"])

    def table(self) -> Table:
        """The cells as a table."""
        return Table(
            self.cells.set_index(["rate_Mbps", "mtu_B"]),
            caption="Goodput on paths of known rates, beside what TCP can carry there",
            heads=RATE_HEADS,
            formats={
                "rate_Mbps": "g",
                "expected_MBps": ".3f",
                "goodput_MBps": ".3f",
                **dict.fromkeys(("error_percent", "least_percent", "greatest_percent"), "+.2f"),
                "within_percent": ".1f",
            },
            note="What TCP can carry is MSS / (MTU + 14) of the rate of the token bucket. "
            f"{EVERY_TRY}",
        )

    def settings(self) -> dict:
        """The plan and the congestion control."""
        return {**super().settings(), "congestion": CONGESTION}


def calibrate(
    plan: RatePlan, *, progress: Callable[[dict, int], None] = lambda sample, runs: None
) -> Calibration:
    """Measure a calibration on a lab of its own."""
    samples, facts = measure_cells(
        calibration_study(plan),
        _by_path(plan),
        lambda path, cell: repeated(plan, cell, _attempt(path, plan, cell)),
        lambda sample: progress(sample, len(plan.cells)),
    )
    return Calibration(plan, judge(plan, samples), samples, facts)


def _by_path(plan: RatePlan) -> list[RateCell]:
    return sorted(plan.cells, key=lambda cell: (cell.rate_Mbps, cell.path, cell.mtu_B))


def repeated(plan: RatePlan, cell: RateCell, attempt: Callable[[], dict]) -> list[dict]:
    """Make every run of a cell, whatever its figure."""
    named = {"rate_Mbps": cell.rate_Mbps, "mtu_B": cell.mtu_B}
    return [{**named, "repeat": n, **attempt()} for n in range(1, plan.repeats + 1)]


def _attempt(path: CalibratedPath, plan: RatePlan, cell: RateCell) -> Callable[[], dict]:
    """Measure a cell once: a run with its flags, without a goodput if it failed."""
    stream = Stream(
        mtu_B=cell.mtu_B,
        buffer_B=cell.buffer_B,
        warmup_s=plan.warmup_s,
        window_s=cell.window_s(plan.seconds),
        congestion=CONGESTION,
        record_length_B=cell.record_length_B,
    )
    return lambda: path.send(stream)


def judge(plan: RatePlan, samples: list[dict]) -> pd.DataFrame:
    """Turn samples into cells, each with its error and verdict."""
    rows = []
    for cell in plan.cells:
        runs = [
            sample
            for sample in samples
            if (sample["rate_Mbps"], sample["mtu_B"]) == (cell.rate_Mbps, cell.mtu_B)
        ]
        known = [run for run in runs if run["goodput_MBps"] is not None]
        errors = [cell.deviation_percent(float(run["goodput_MBps"])) for run in known]
        error = float(np.median(errors)) if errors else np.nan
        rows.append(
            {
                "rate_Mbps": cell.rate_Mbps,
                "mtu_B": cell.mtu_B,
                "offloads": "on" if cell.offloads else "off",
                "expected_MBps": cell.expected_MBps,
                "goodput_MBps": cell.expected_MBps * (1 + error / 100),
                "error_percent": error,
                "least_percent": min(errors, default=np.nan),
                "greatest_percent": max(errors, default=np.nan),
                "within_percent": cell.within_percent,
                "verdict": _verdict(cell, error, list(zip(errors, known, strict=True)), len(runs)),
                "runs": len(runs),
                "failed": len(runs) - len(known),
                "flags": all_flags(runs),
            }
        )
    return pd.DataFrame.from_records(rows, columns=list(CELL_COLUMNS))


def _verdict(
    cell: RateCell, error_percent: float, known: list[tuple[float, dict]], runs: int
) -> str:
    """Verdict on the median of all runs."""
    if too_few(known, runs):
        return NOT_MEASURED
    if abs(error_percent) <= cell.within_percent:
        return WITHIN
    # Other work on the machine never raises a rate.
    beyond = [(error, run) for error, run in known if abs(error) > cell.within_percent]
    clean = any(undisturbed(run) or error > 0 for error, run in beyond)
    return OUTSIDE if clean else DISTURBED
