"""Measure runs with bursts of foreign load at random moments, on a lab of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from netlab.errors import RunError
from netlab.experiment.lab_pair import lab_pair
from netlab.qualify.calibration.burner import Bursts
from netlab.qualify.calibration.interference import (
    ALL,
    Burst,
    InterferencePlan,
    InterferenceResult,
    cost_percent,
)
from netlab.qualify.calibration.stream import CalibratedPath, Stream, measure_cells
from netlab.study import Study

MTU_B = 1500
PATH = "busy"
INTERVAL_MS = 10
CONGESTION = "cubic"

LINK = {"interrupt_delay_us": 0.0, "segmentation_offload": False, "checksum_offload": False}
"""As fast as the CPUs, so that foreign load moves the goodput."""

LEAD_S = 0.05
"""About the time from the start of a run to that of its warm-up."""

DISTURBED = "interference"
KEPT = ("goodput_MBps", "steal_percent", "foreign_cpu_percent", "flags", "message")


@dataclass(frozen=True)
class _Cell:
    path: str = PATH
    mtu_B: int = MTU_B


def _study(plan: InterferencePlan) -> Study:
    return lab_pair(
        "calibration-interference",
        "Runs with bursts of foreign load",
        {PATH: LINK},
        [{"name": PATH, "path": PATH, "buffer_B": 0}],
        congestion=CONGESTION,
        seed=plan.seed,
    )


def calibrate_interference(
    plan: InterferencePlan, *, progress: Callable[[dict, int], None] = lambda sample, runs: None
) -> InterferenceResult:
    """Measure runs with and without bursts, and count the flagged ones.

    Parameters
    ----------
    plan : InterferencePlan
        Kinds of bursts and number of runs.
    progress : callable
        Called after each run with its sample and the number of runs.

    Raises
    ------
    Unsupported
        This machine cannot make a lab.
    HostError
        An end of the path was lost.
    """
    order = plan.order()

    def measure(path: CalibratedPath, cell: _Cell) -> list[dict]:
        samples = []
        with Bursts() as bursts:
            for burst, moment in order:
                samples.append(_sample(path, plan, bursts, burst, moment))
                progress(samples[-1], len(order))
        return samples

    samples, facts = measure_cells(_study(plan), [_Cell()], measure, lambda sample: None)
    return InterferenceResult.of(plan, samples, facts)


def _cpus(cpus: list[int], burst: Burst, moment: float) -> list[int]:
    """CPUs of a burst: none, all, or one that changes with the moment."""
    if not burst.length_ms:
        return []
    return cpus if burst.where == ALL else [cpus[int(moment * 1e6) % len(cpus)]]


def _sample(
    path: CalibratedPath, plan: InterferencePlan, bursts: Bursts, burst: Burst, moment: float
) -> dict:
    """One run, with a burst that begins and ends within its window."""
    stream = Stream(
        mtu_B=MTU_B,
        buffer_B=0,
        warmup_s=plan.warmup_s,
        window_s=plan.seconds,
        congestion=CONGESTION,
        interval_ms=INTERVAL_MS,
    )
    cpus = (
        bursts.cpus
        if burst.where == ALL
        else bursts.cpus[int(moment * 1e6) % len(bursts.cpus) :][:1]
    )
    cpus = cpus if burst.length_ms else []
    earliest_s = LEAD_S + plan.warmup_s + moment * (0.9 * plan.seconds - burst.length_ms / 1000)
    start_ns = time.monotonic_ns() + int(1e9 * earliest_s)
    bursts.start(cpus, start_ns, burst.length_ms * 1_000_000)
    try:
        made = path.measure(stream)
    except RunError as error:
        bursts.ended(cpus)
        return {"injected": burst.text, "goodput_MBps": None, "message": str(error)}
    go_ns = made.outcome.flows[0].sink["t_go_ns"]
    times_s = [tuple((at_ns - go_ns) / 1e9 for at_ns in pair) for pair in bursts.ended(cpus)]
    return {
        "injected": burst.text,
        **{name: made.row[name] for name in KEPT},
        "cost_percent": cost_percent(made.intervals, [(a, b) for a, b in times_s]),
        "flagged": DISTURBED in made.row["flags"].split(","),
        "bursts_s": [list(pair) for pair in times_s],
    }
