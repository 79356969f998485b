"""Calibrate netlab's core on paths of known rates: measure each cell and its error."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from netlab.analysis import stored_calibrations
from netlab.qualify.calibrated.part import CalibrationPart
from netlab.qualify.calibrated.path import CalibratedPath, measure_cells
from netlab.qualify.calibrated.rate_cells import RATES_CONGESTION, KnownRate, RateCell, RatePlan
from netlab.qualify.calibrated.verdicts import EVERY_TRY, CellTable, figure_text, spread_text


def rate_figures(cell: KnownRate, tries: list[dict]) -> dict:
    goodputs = figure_text(tries, "goodput_MBps")
    offloads = {"offloads": "on" if cell.offloads else "off"} if isinstance(cell, RateCell) else {}
    return {
        **offloads,
        "expected_MBps": cell.expected_MBps,
        "goodput_MBps": goodputs.median(),
        **spread_text(100 * (goodputs / cell.expected_MBps - 1), "percent", "error"),
        "within_percent": cell.within_percent,
        **({} if offloads else {"late_us": figure_text(tries, "emulator_late_us").median()}),
    }


class Calibration(CalibrationPart):
    NAME: ClassVar = stored_calibrations.RATES
    TABLES: ClassVar = (CellTable("cells", rate_figures, ("runs", "failed")),)
    CONGESTION: ClassVar = RATES_CONGESTION

    @property
    def notes(self) -> tuple[str, ...]:
        rate = "What TCP can carry is MSS / (MTU + 14) of the rate of the token bucket."
        return (rate, EVERY_TRY)


def calibrate(plan: RatePlan, *, progress: Callable[[dict], None]) -> Calibration:
    cells = sorted(plan.cells, key=lambda cell: (cell.rate_Mbps, cell.path, cell.mtu_B))

    def attempt(path: CalibratedPath, cell: RateCell) -> Callable[[], dict]:
        return partial(path.send, cell.stream(plan))

    return Calibration(plan, *measure_cells(plan, cells, attempt, "repeat", progress))
