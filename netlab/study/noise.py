"""Limits of the disturbance of a host before its runs are flagged, and the number of retries."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from netlab.study.base import Sparse
from netlab.study.precision import DurationText, duration_s
from netlab.tuning.knobs import key

Percent = Annotated[float, Field(ge=0, le=100)]
Wait = Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)]


class Noise(Sparse, title="`noise`"):
    """Limits of disturbance within the window of a run; beyond one it is flagged ``interference``.

    CPU time is in per cent of all cores, traffic in per cent of the run's own bytes or packets. A
    flagged run is measured again if its cell has fewer valid runs than an interval needs; its
    record stays. With a ``wait`` of 0 a campaign does not read the load of the hosts either.
    """

    left_out = ("foreign_traffic_percent", "frequency_drop_percent", "wait")

    steal_percent: Percent = key(
        "Limit of CPU time taken by the hypervisor, per cent of all CPUs.", 5.0, 5.0
    )
    foreign_cpu_percent: Percent = key(
        "Limit of CPU time of other processes, per cent of all CPUs.", 4.0, 4.0
    )
    foreign_traffic_percent: Percent = key(
        "Limit of others' bytes or packets on the data interface, per cent of the run's own.",
        1.0,
        1.0,
    )
    frequency_drop_percent: Percent = key(
        "Limit of the fall of a busy CPU's frequency within the window, per cent.", 10.0, 10.0
    )
    retries: int = key(
        "Times that a disturbed run of a cell with too few valid ones is measured again.",
        1,
        1,
        ge=0,
        le=100,
    )
    wait: Annotated[
        Wait, BeforeValidator(duration_s, json_schema_input_type=Wait | DurationText)
    ] = key("Longest wait of a campaign for quiet hosts, all waits together.", "5min", 20.0)
