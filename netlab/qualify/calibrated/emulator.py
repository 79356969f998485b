"""Calibrate the path emulator: ping idle and loaded paths, fill rates."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from netlab.analysis import stored_calibrations
from netlab.experiment.trial import side_of
from netlab.files.run_results import ToolMeter
from netlab.generators.tool_meters import difference, snapshot
from netlab.hosts.at_once import together
from netlab.hosts.path import ping
from netlab.lab.pair import RECEIVER, SENDER
from netlab.measure.flags import interference
from netlab.measure.record import others_load, own_us
from netlab.qualify.calibrated.emulator_cells import (
    BOUND_PERCENT,
    BOUND_US,
    EMULATOR_CONGESTION,
    PATH_MTU_B,
    EmulatorPlan,
    RoundTrip,
)
from netlab.qualify.calibrated.part import CalibrationPart
from netlab.qualify.calibrated.path import CalibratedPath, measure_cells
from netlab.qualify.calibrated.rates import rate_figures
from netlab.qualify.calibrated.verdicts import EVERY_TRY, CellTable, figure_text, spread_text
from netlab.results.flags import Flag, join_flags, split_flags

PING_INTERVAL_S = 0.02
LOAD_SHORT_PERCENT, LOAD_SHORT = 5.0, "load_short"
"""Largest shortfall of a load, and the flag of a try beyond it."""


def _round_trip(cell: RoundTrip, tries: list[dict]) -> dict:
    means_ms = figure_text(tries, "mean_ms")
    return {
        "goodput_Mbps": 8 * figure_text(tries, "goodput_MBps").median(),
        "mean_ms": means_ms.median(),
        **spread_text(1e3 * (means_ms - cell.rtt_ms), "us", "deviation"),
        "bound_us": cell.bound_us,
        "late_us": figure_text(tries, "emulator_late_us").median(),
        "pings": sum(one.get("pings", 0) for one in tries),
    }


class EmulatorAccuracy(CalibrationPart):
    NAME: ClassVar = stored_calibrations.EMULATOR
    TABLES: ClassVar = (
        CellTable("round_trips", _round_trip, ("tries",)),
        CellTable("rates", rate_figures, ("tries",)),
    )
    CONGESTION: ClassVar = EMULATOR_CONGESTION

    @property
    def notes(self) -> tuple[str, ...]:
        loads = ""
        for load in self.plan.loads:
            if load.paced_Mbps:
                path = f"{load.rate_Mbps:g} Mb/s" if load.rate_Mbps else "no rate"
                loads += (
                    f"{load.name.capitalize()}: beside one stream paced at {load.paced_Mbps:g} "
                    f"Mb/s, on a path of {path}. "
                )
        trips = (
            f"Means of {self.plan.pings} pings, {1e3 * PING_INTERVAL_S:g} ms apart, MTU "
            f"{PATH_MTU_B}. {loads}The bound is the larger of {BOUND_US:g} us and "
            f"{BOUND_PERCENT:g} % of the RTT."
        )
        common = (
            "Late: what all but one in 100 of the emulator's writes stayed within. Each cell is "
            f"measured {self.plan.tries} times. {EVERY_TRY}"
        )
        return trips, "What TCP can carry is MSS / (MTU + 14) of the rate.", common


def calibrate_emulator(plan: EmulatorPlan, *, progress: Callable[[dict], None]) -> EmulatorAccuracy:

    def attempt(path: CalibratedPath, cell: Any) -> Callable[[], dict]:
        if not isinstance(cell, RoundTrip):
            return partial(path.send, cell.stream(plan.seconds))
        if cell.load.paced_Mbps:
            return partial(_loaded, path, plan, cell)
        return partial(_idle, path, plan)

    return EmulatorAccuracy(plan, *measure_cells(plan, plan.cells, attempt, "try", progress))


def _idle(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    ends = [side_of(endpoint) for endpoint in path.endpoints.values()]

    def metered() -> tuple[dict, list[ToolMeter]]:
        before = [snapshot(end) for end in ends]
        pings = _ping(path, plan)
        after = [snapshot(end) for end in ends]
        return pings, [difference(*both) for both in zip(before, after, strict=True)]

    assert path.emulation is not None  # every path of this calibration is emulated
    (pings, meters), emulated = path.emulation.around(path.group, metered)
    # Both ends are on one machine, so each meter has all its processors.
    spent_us = sum(map(own_us, meters), 0.0)
    spent_us += emulated.cpu_us(meters[0]["t0_ns"], meters[0]["t1_ns"])
    load = others_load(meters[0], spent_us)
    disturbance = interference(load) or ""
    return {
        **pings,
        **load,
        "emulator_late_us": emulated.late_us,
        "emulator_waited_percent": emulated.waited_percent,
        "path_drops": emulated.dropped(),
        "flags": Flag.INTERFERENCE if disturbance else "",
        "message": "; ".join(filter(None, (disturbance, pings["message"]))),
    }


def _loaded(path: CalibratedPath, plan: EmulatorPlan, cell: RoundTrip) -> dict:
    """Ping while the stream of the cell loads the path; a failed stream voids the pings."""
    stream = cell.stream(plan.pings * PING_INTERVAL_S)

    def ping_later() -> dict:
        # The handshake takes two round trips before the warm-up begins.
        time.sleep(stream.warmup_s + 2 * cell.rtt_ms / 1e3)
        return _ping(path, plan)

    calls: list[Callable[[], dict]] = [ping_later, partial(path.send, stream)]
    pings, sent = (done.result() for done in together(calls, at_once=2))
    message = "; ".join(filter(None, (sent["message"], pings["message"])))
    sample = {**pings, **sent, "message": message}
    if sample["goodput_MBps"] is None:
        sample["mean_ms"] = None
    elif 8 * sample["goodput_MBps"] < cell.load.paced_Mbps * (1 - LOAD_SHORT_PERCENT / 100):
        sample["flags"] = join_flags([*split_flags(sample["flags"]), LOAD_SHORT])
    return sample


def _ping(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    """Statistics of pings, the number answered, and ping's last lines if one was not."""
    near, far = path.endpoints[SENDER], path.endpoints[RECEIVER]
    pings = ping(near.host, near.address, far.address, count=plan.pings, interval_s=PING_INTERVAL_S)
    lost_percent = 100.0 if pings.loss_percent is None else pings.loss_percent
    return {
        "pings": round(plan.pings * (1 - lost_percent / 100)),
        "mean_ms": pings.avg_ms,
        **{name: getattr(pings, name) for name in ("mdev_ms", "min_ms", "max_ms")},
        "message": "" if pings.loss_percent == 0 else " / ".join(pings.ping.splitlines()[-3:]),
    }
