"""Measure runs with foreign load or traffic at random moments, on a lab of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from netlab.errors import RunError
from netlab.experiment.lab_pair import RECEIVER, SENDER, lab_pair
from netlab.experiment.measurement import Measurement
from netlab.qualify.calibration.blaster import Blaster
from netlab.qualify.calibration.burner import Bursts
from netlab.qualify.calibration.interference import (
    ALL,
    TRAFFIC,
    Burst,
    InterferencePlan,
    InterferenceResult,
    Traffic,
    cost_percent,
)
from netlab.qualify.calibration.stream import CalibratedPath, Stream, measure_cells
from netlab.study import Study

MTU_B = 1500
BUSY, SHAPED = "busy", "shaped"
INTERVAL_MS = 10
CONGESTION = "cubic"

LINK = {"interrupt_delay_us": 0.0, "segmentation_offload": False, "checksum_offload": False}
"""As fast as the CPUs, so that foreign load moves the goodput."""

LEAD_S = 0.05
"""About the time from the start of a run to that of its warm-up."""

DISTURBED = "interference"
KEPT = (
    *("goodput_MBps", "steal_percent", "foreign_cpu_percent", "foreign_traffic_percent"),
    *("flags", "message"),
)


@dataclass(frozen=True)
class _Cell:
    path: str
    mtu_B: int = MTU_B


def _study(plan: InterferencePlan) -> Study:
    links = {BUSY: LINK, SHAPED: LINK | {"rate_Mbps": 8 * plan.link_MBps}}
    return lab_pair(
        "calibration-interference",
        "Runs with foreign load and traffic",
        links,
        [{"name": path, "path": path, "buffer_B": 0} for path in links],
        congestion=CONGESTION,
        seed=plan.seed,
    )


def calibrate_interference(
    plan: InterferencePlan, *, progress: Callable[[dict, int], None] = lambda sample, runs: None
) -> InterferenceResult:
    """Measure runs with and without interference, and count the flagged ones.

    Parameters
    ----------
    plan : InterferencePlan
        Kinds of interference and number of runs.
    progress : callable
        Called after each run with its sample and the number of runs.

    Raises
    ------
    Unsupported
        This machine cannot make a lab.
    HostError
        An end of the path was lost.
    """
    order, traffic = plan.order(), plan.traffic_order()
    total = len(order) + len(traffic)

    def measure(path: CalibratedPath, cell: _Cell) -> list[dict]:
        samples = []
        if cell.path == BUSY:
            with Bursts() as bursts:
                for burst, moment in order:
                    samples.append(_with_burst(path, plan, bursts, burst, moment))
                    progress(samples[-1], total)
            return samples
        address = path.endpoints[RECEIVER].address
        with Blaster(path.lab.namespace(SENDER), address) as blaster:
            for one, moment in traffic:
                samples.append(_with_traffic(path, plan, blaster, one, moment))
                progress(samples[-1], total)
        return samples

    cells = [_Cell(BUSY), _Cell(SHAPED)]
    samples, facts = measure_cells(_study(plan), cells, measure, lambda sample: None)
    return InterferenceResult.of(plan, samples, facts)


def _start_ns(plan: InterferencePlan, length_ms: float, moment: float) -> int:
    """Start of interference that begins and ends within the window of a run that starts now."""
    earliest_s = LEAD_S + plan.warmup_s + moment * (0.9 * plan.seconds - length_ms / 1000)
    return time.monotonic_ns() + int(1e9 * earliest_s)


def _run(path: CalibratedPath, plan: InterferencePlan) -> Measurement | RunError:
    stream = Stream(
        mtu_B=MTU_B,
        buffer_B=0,
        warmup_s=plan.warmup_s,
        window_s=plan.seconds,
        congestion=CONGESTION,
        interval_ms=INTERVAL_MS,
    )
    try:
        return path.measure(stream)
    except RunError as error:
        return error


def _sample(injected: str, made: Measurement | RunError, spans_ns: list[tuple[int, int]]) -> dict:
    """One run, and the cost of what was injected into it between these times."""
    if isinstance(made, RunError):
        return {"injected": injected, "goodput_MBps": None, "message": str(made)}
    go_ns = made.outcome.flows[0].sink["t_go_ns"]
    times_s = [((begun - go_ns) / 1e9, (ended - go_ns) / 1e9) for begun, ended in spans_ns]
    return {
        "injected": injected,
        **{name: made.row[name] for name in KEPT},
        "cost_percent": cost_percent(made.intervals, times_s),
        "flagged": DISTURBED in made.row["flags"].split(","),
        "bursts_s": [list(pair) for pair in times_s],
    }


def _with_burst(
    path: CalibratedPath, plan: InterferencePlan, bursts: Bursts, burst: Burst, moment: float
) -> dict:
    """One run with a burst on all CPUs, or on one that changes with the moment."""
    cpus = (
        bursts.cpus
        if burst.where == ALL
        else bursts.cpus[int(moment * 1e6) % len(bursts.cpus) :][:1]
    )
    cpus = cpus if burst.length_ms else []
    bursts.start(cpus, _start_ns(plan, burst.length_ms, moment), burst.length_ms * 1_000_000)
    made = _run(path, plan)
    return _sample(burst.text, made, bursts.ended(cpus))


def _with_traffic(
    path: CalibratedPath,
    plan: InterferencePlan,
    blaster: Blaster,
    traffic: Traffic,
    moment: float,
) -> dict:
    """One run with foreign traffic through its interface."""
    if traffic.length_ms:
        start_ns = _start_ns(plan, traffic.length_ms, moment)
        blaster.start(start_ns, int(traffic.length_ms * 1e6), traffic.rate_MBps)
        made = _run(path, plan)
        blast = blaster.ended()
        sample = _sample(traffic.text, made, [blast[:2]]) | {"foreign_B": blast.sent_B}
    else:
        sample = _sample(traffic.text, _run(path, plan), []) | {"foreign_B": 0}
    # other work on the machine must not pass for the detection of traffic
    sample["flagged"] = bool(sample.get("flagged")) and TRAFFIC in sample["message"]
    return sample
