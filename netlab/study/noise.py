"""Limits of the disturbance of a host before its runs are flagged, and the number of retries."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from netlab.study.base import Model

Percent = Annotated[float, Field(ge=0, le=100)]


class Noise(Model):
    """Limits of disturbance.

    Parameters
    ----------
    steal_percent, foreign_cpu_percent : float
        CPU time taken by the hypervisor, and used by other processes, in per cent of all cores
        within the window. A run beyond a limit is flagged ``interference``.
    retries : int
        A run that was flagged ``interference`` is measured again at the end of its round, at most
        this many times. The flagged records stay.
    """

    steal_percent: Percent = 5.0
    foreign_cpu_percent: Percent = 4.0
    retries: Annotated[int, Field(ge=0, le=100)] = 1
