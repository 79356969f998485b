"""Limits of the disturbance of a host before its runs are flagged, and the number of retries."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, SerializerFunctionWrapHandler, model_serializer

from netlab.study.base import Model
from netlab.study.precision import duration_s

Percent = Annotated[float, Field(ge=0, le=100)]

LATER = ("foreign_traffic_percent", "frequency_drop_percent", "wait")


class Noise(Model):
    """Limits of disturbance.

    Parameters
    ----------
    steal_percent, foreign_cpu_percent : float
        CPU time taken by the hypervisor, and used by other processes, in per cent of all cores
        within the window. A run beyond a limit is flagged ``interference``.
    foreign_traffic_percent : float
        Bytes or packets of others on the data interface, in per cent of the run's own.
    frequency_drop_percent : float
        Fall of the frequency of a busy CPU within the window, in per cent.
    retries : int
        A run that was flagged ``interference`` is measured again at most this many times, if its
        cell has fewer valid runs than an interval needs. The flagged records stay.
    wait : float
        Seconds, also written ``5min``, that a campaign waits at most for quiet hosts before it
        measures, and before it measures disturbed runs again: all waits together. With 0 it does
        not read the load of the hosts either.
    """

    steal_percent: Percent = 5.0
    foreign_cpu_percent: Percent = 4.0
    foreign_traffic_percent: Percent = 1.0
    frequency_drop_percent: Percent = 10.0
    retries: Annotated[int, Field(ge=0, le=100)] = 1
    wait: Annotated[
        float, BeforeValidator(duration_s), Field(ge=0, le=86400, allow_inf_nan=False)
    ] = 20.0

    @model_serializer(mode="wrap")
    def _without_later_defaults(self, serialize: SerializerFunctionWrapHandler) -> dict:
        # digests and keys of studies that leave these out are as before there were such limits
        fields = type(self).model_fields
        return {
            key: value
            for key, value in serialize(self).items()
            if key not in LATER or value != fields[key].default
        }
