"""Calibrate the path emulator on a lab of its own: ping idle and loaded paths, fill rates."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from netlab.experiment.lab_pair import RECEIVER, SENDER
from netlab.experiment.measurement import side_of
from netlab.generators.meters import difference, snapshot
from netlab.hosts.pathcheck import PathCheck, ping
from netlab.hosts.together import together
from netlab.measure.flags import interference
from netlab.measure.record import others_load, own_us
from netlab.qualify.calibration.emulator import EmulatorAccuracy
from netlab.qualify.calibration.emulator_cells import (
    LOAD_SHORT,
    LOAD_SHORT_PERCENT,
    PING_INTERVAL_S,
    EmulatorCell,
    EmulatorPlan,
    RoundTrip,
    emulator_study,
)
from netlab.qualify.calibration.stream import CalibratedPath, measure_cells


def calibrate_emulator(
    plan: EmulatorPlan, *, progress: Callable[[dict, int], None] = lambda sample, cells: None
) -> EmulatorAccuracy:
    """Measure the accuracy of the path emulator."""
    samples, facts = measure_cells(
        emulator_study(plan),
        plan.cells,
        lambda path, cell: tried(cell, _attempt(path, plan, cell), plan.tries),
        lambda sample: progress(sample, len(plan.cells)),
    )
    return EmulatorAccuracy.of(plan, samples, facts)


def tried(cell: EmulatorCell, attempt: Callable[[], dict], tries: int) -> list[dict]:
    """Measure a cell several times, whatever the figures."""
    return [{**cell.key, "try": number, **attempt()} for number in range(1, tries + 1)]


def _attempt(path: CalibratedPath, plan: EmulatorPlan, cell: EmulatorCell) -> Callable[[], dict]:
    """Measure a cell once."""
    if not isinstance(cell, RoundTrip):
        stream = cell.stream(plan.seconds)
        return lambda: path.send(stream)
    if cell.load.paced_Mbps:
        return lambda: _loaded(path, plan, cell)
    return lambda: _idle(path, plan)


def _idle(path: CalibratedPath, plan: EmulatorPlan) -> dict:
    """Ping an idle path."""
    ends = [side_of(endpoint) for endpoint in path.endpoints.values()]

    def metered() -> tuple[PathCheck, list[dict]]:
        before = [snapshot(end) for end in ends]
        pings = _ping(path, plan)
        after = [snapshot(end) for end in ends]
        return pings, [difference(*both) for both in zip(before, after, strict=True)]

    assert path.emulation is not None  # every path of this calibration is emulated
    (pings, meters), emulated = path.emulation.around(path.group, metered)
    # Both ends are on one machine, so each meter has all its processors.
    spent_us = sum(own_us(meter) for meter in meters)
    spent_us += emulated.cpu_us(meters[0]["t0_ns"], meters[0]["t1_ns"])
    load = others_load(meters[0], spent_us)
    disturbance = interference(load) or ""
    return {
        **_figures(pings, plan),
        **load,
        "emulator_late_us": emulated.late_us,
        "emulator_waited_percent": emulated.waited_percent,
        "path_drops": emulated.dropped(),
        "flags": "interference" if disturbance else "",
        "message": _message(disturbance, pings),
    }


def _loaded(path: CalibratedPath, plan: EmulatorPlan, cell: RoundTrip) -> dict:
    """Ping while the stream of the cell loads the path; a failed stream voids the pings."""
    stream = cell.stream(plan.pings * PING_INTERVAL_S)

    def ping_later() -> PathCheck:
        # The handshake takes two round trips before the warm-up begins.
        time.sleep(stream.warmup_s + 2 * cell.rtt_ms / 1e3)
        return _ping(path, plan)

    looks: list[Callable[[], Any]] = [ping_later, partial(path.send, stream)]
    pings, sent = (done.result() for done in together(looks, at_once=2))
    sample = {**_figures(pings, plan), **sent, "message": _message(sent["message"], pings)}
    if sample["goodput_MBps"] is None:
        sample["mean_ms"] = None
    elif 8 * sample["goodput_MBps"] < cell.load.paced_Mbps * (1 - LOAD_SHORT_PERCENT / 100):
        sample["flags"] = ",".join(filter(None, (sample["flags"], LOAD_SHORT)))
    return sample


def _ping(path: CalibratedPath, plan: EmulatorPlan) -> PathCheck:
    near, far = path.endpoints[SENDER], path.endpoints[RECEIVER]
    return ping(near.host, near.address, far.address, count=plan.pings, interval_s=PING_INTERVAL_S)


def _figures(pings: PathCheck, plan: EmulatorPlan) -> dict:
    """Statistics of the pings; ``pings`` counts the answered ones."""
    lost_percent = 100.0 if pings.loss_percent is None else pings.loss_percent
    return {
        "pings": round(plan.pings * (1 - lost_percent / 100)),
        "mean_ms": pings.avg_ms,
        "mdev_ms": pings.mdev_ms,
        "min_ms": pings.min_ms,
        "max_ms": pings.max_ms,
    }


def _message(message: str, pings: PathCheck) -> str:
    """The message, with ping's output if a ping was not answered."""
    printed = "" if pings.loss_percent == 0 else " / ".join(pings.ping.splitlines()[-3:])
    return "; ".join(filter(None, (message, printed)))
