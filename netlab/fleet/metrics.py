"""The state of a fleet as metrics of Prometheus, in a file that its node exporter collects."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, write_to_textfile

from netlab.errors import NetlabError
from netlab.fleet.status import FleetStatus

STATES = ("done", "running", "failed", "left")


def write_metrics(path: Path, study: str, status: FleetStatus) -> None:
    """Write the metrics; a reader never sees half a file.

    Parameters
    ----------
    path : Path
        A file ``*.prom`` in the directory that the exporter's textfile collector reads.
    study : str
        Name of the study, a label of every metric.
    status : FleetStatus
        The state.

    Raises
    ------
    NetlabError
        The file cannot be written.
    """
    registry = CollectorRegistry()

    def gauge(name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"netlab_fleet_{name}", text, ("study", *labels), registry=registry)

    jobs = gauge("jobs", "Jobs of the plan by state", "state")
    numbers = (status.done, status.running, status.failed)
    for state, number in zip(STATES, (*numbers, status.jobs - sum(numbers)), strict=True):
        jobs.labels(study, state).set(number)
    gauge("controller_alive", "1 if a controller runs the fleet").labels(study).set(status.is_alive)
    if status.remaining_s is not None:
        remaining = gauge("remaining_seconds", "Estimated time to the end")
        remaining.labels(study).set(status.remaining_s)
    of_host = gauge("host_jobs", "Jobs of a host by state", "host", "state")
    aside = gauge("host_put_aside", "1 if the host is put aside", "host")
    for host in status.hosts:
        for state in STATES:
            of_host.labels(study, host.host, state).set(getattr(host, state))
        aside.labels(study, host.host).set(host.put_aside)
    try:
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise NetlabError(
            f"{path}: cannot be written: {error.strerror}", code="E-FLEET-039"
        ) from None
