"""Measure every cell of a calibration and say how far off netlab is."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import pandas as pd

import netlab
from netlab import core
from netlab.block import stable_facts
from netlab.calibration.cells import (
    CONGESTION,
    RECEIVER,
    SENDER,
    Plan,
    RateCell,
    calibration_study,
)
from netlab.errors import RunError
from netlab.hosts.lab import Lab
from netlab.hosts.namespaces import tool as run_ip
from netlab.measure import Setting, Side, audit, interval_rows, measure, record
from netlab.measure.exchange import Request
from netlab.measure.flags import flags_of
from netlab.station import Station, host_facts, open_stations
from netlab.study import Study, Timing
from netlab.tables import Table

SCHEMA = 1
RECORD_LENGTH_B = 65536
INTERVAL_MS = 50
WITHIN, OUTSIDE, DISTURBED, NOT_MEASURED = "within", "outside", "disturbed", "not measured"
"""Disturbed is a cell off its bound of which every run met steal or foreign load: it says nothing
of netlab."""

CELL_COLUMNS = (
    *("rate_Mbps", "mtu_B", "offloads", "expected_MBps", "goodput_MBps", "error_percent"),
    *("within_percent", "verdict", "repeats", "flags"),
)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What was measured and what follows from it.

    Attributes
    ----------
    cells : DataFrame
        :data:`CELL_COLUMNS`, one row a cell; ``goodput_MBps`` is the median of the repeats without
        a flag, of all repeats that gave a figure if there is none without.
    samples : list of dict
        Every run.
    """

    plan: Plan
    cells: pd.DataFrame
    samples: list[dict]
    machine: dict
    started_at: str

    @property
    def outside(self) -> pd.DataFrame:
        """Cells that are not within their bound, for whatever reason."""
        return self.cells[self.cells["verdict"] != WITHIN]

    def table(self) -> Table:
        """The cells for people."""
        return Table(
            self.cells.set_index(["rate_Mbps", "mtu_B"]),
            caption="Goodput on paths of known rates, beside what TCP can carry there",
            heads={
                "rate_Mbps": "Mb/s",
                "mtu_B": "MTU",
                "expected_MBps": "TCP can carry, MB/s",
                "goodput_MBps": "measured, MB/s",
                "error_percent": "error %",
                "within_percent": "bound %",
            },
            formats={
                "expected_MBps": ".3f",
                "goodput_MBps": ".3f",
                "error_percent": "+.2f",
                "within_percent": ".1f",
            },
            note="What TCP can carry is MSS / (MTU + 14) of the rate of the token bucket.",
        )

    def to_text(self) -> str:
        """The cells for a terminal."""
        shown = self.cells.copy()
        shown["error_percent"] = [f"{error:+.2f}" for error in shown["error_percent"]]
        return shown.to_string(
            index=False, float_format=lambda value: f"{value:.2f}".rstrip("0").rstrip(".")
        )

    def as_json(self) -> dict:
        """The document, as JSON values: every run is in it."""
        return {
            "netlab_calibration": SCHEMA,
            "started_at": self.started_at,
            "netlab": netlab.__version__,
            "agent": core.source_digest(),
            "machine": self.machine,
            "settings": {**asdict(self.plan), "congestion": CONGESTION},
            "cells": self.cells.to_dict("records"),
            "samples": self.samples,
        }


def calibrate(
    plan: Plan, *, progress: Callable[[dict, int], None] = lambda sample, runs: None
) -> Calibration:
    """Measure a calibration on a lab of its own.

    Parameters
    ----------
    plan : Plan
        What to measure.
    progress : callable
        Called after each run with its sample and how many runs there are.

    Raises
    ------
    Unsupported
        This machine cannot make a shaped lab.
    HostError
        An end of a path was lost.
    """
    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    study = calibration_study(plan)
    runs = len(plan.cells) * plan.repeats
    samples: list[dict] = []
    # A lab of its own, since what is set in it is not put back.
    with Lab.up(study, owned=True) as lab:
        facts = stable_facts(next(iter(host_facts(study, lab=lab).values()))[SENDER])
        for path, cells in itertools.groupby(_by_path(plan), lambda cell: cell.path):
            with open_stations(study, path, lab=lab) as stations:
                for cell in cells:
                    for station in stations.values():
                        _set_mtu(lab, station, cell.mtu_B)
                    for repeat in range(1, plan.repeats + 1):
                        samples.append(_sample(study, stations, plan, cell, repeat))
                        progress(samples[-1], runs)
    return Calibration(plan, judge(plan, samples), samples, facts, started_at)


def _set_mtu(lab: Lab, station: Station, mtu_B: int) -> None:
    """Set the MTU of a lab end, for good: a tuning would refuse one that ends its IPv6."""
    line = ("link", "set", "dev", station.interface, "mtu", str(mtu_B))
    run_ip(("ip", "-n", lab.namespace(station.name), *line), host=station.name)


def _by_path(plan: Plan) -> list[RateCell]:
    return sorted(plan.cells, key=lambda cell: (cell.rate_Mbps, cell.path, cell.mtu_B))


def _sample(
    study: Study, stations: dict[str, Station], plan: Plan, cell: RateCell, repeat: int
) -> dict:
    """One run, with its flags; without a goodput if it failed."""
    window_s = cell.window_s(plan.seconds)
    named = {
        "rate_Mbps": cell.rate_Mbps,
        "mtu_B": cell.mtu_B,
        "repeat": repeat,
        "goodput_MBps": None,
    }
    request = Request(
        streams=1,
        record_length_B=RECORD_LENGTH_B,
        congestion=CONGESTION,
        force_buffer=study.force_buffer,
        receive=study.receive,
        warmup_ms=round(1e3 * plan.warmup_s),
        window_ms=round(1e3 * window_s),
        interval_ms=INTERVAL_MS,
        both=False,
    )
    sender, receiver = (_side(stations[name], cell) for name in (SENDER, RECEIVER))
    try:
        outcome = measure(sender, receiver, request)
    except RunError as error:
        return {**named, "flags": "failed", "message": str(error)}
    flows = [(flow.gen, flow.sink) for flow in outcome.flows]
    ledger = audit(flows, mtu_B=cell.mtu_B, both=False)
    # The rate is what is examined here, so it is no ceiling that a figure could be held to.
    setting = Setting(cell.mtu_B, None, None, None, bus_shared=False, one_machine=True)
    row = record(outcome, setting, ledger)
    intervals = interval_rows("calibration", outcome.flows)
    timing = Timing(repeats=1, seconds=window_s, interval_ms=INTERVAL_MS)
    flags = flags_of(row, outcome, ledger.problems, [], intervals, timing)
    kept = ("window_s", "window_B", "mss_B", "retransmits", "ledger_error_B")
    kept += ("steal_percent", "foreign_cpu_percent", "busiest_core_percent")
    return {
        **named,
        "goodput_MBps": row["goodput_MBps"],
        **{name: row[name] for name in kept},
        "flags": ",".join(flags),
        "message": "; ".join(flags.values()),
    }


def _side(station: Station, cell: RateCell) -> Side:
    return Side(
        host=station.name,
        channel=station.agent,
        address=station.address,
        interface=station.interface,
        sndbuf_B=cell.buffer_B,
        rcvbuf_B=cell.buffer_B,
    )


def judge(plan: Plan, samples: list[dict]) -> pd.DataFrame:
    """Samples to cells, each with its error and verdict.

    Parameters
    ----------
    plan : Plan
        Its cells and their bounds.
    samples : list of dict
        ``rate_Mbps mtu_B goodput_MBps flags`` of every run.

    Returns
    -------
    DataFrame
        :data:`CELL_COLUMNS`.
    """
    rows = []
    for cell in plan.cells:
        runs = [
            sample
            for sample in samples
            if (sample["rate_Mbps"], sample["mtu_B"]) == (cell.rate_Mbps, cell.mtu_B)
        ]
        told = [run for run in runs if run["goodput_MBps"] is not None]
        used = [run for run in told if not run["flags"]] or told
        goodput = float(pd.Series([run["goodput_MBps"] for run in used], dtype=float).median())
        error = 100 * (goodput / cell.expected_MBps - 1)
        flags = sorted({flag for run in runs for flag in run["flags"].split(",") if flag})
        rows.append(
            {
                "rate_Mbps": cell.rate_Mbps,
                "mtu_B": cell.mtu_B,
                "offloads": "on" if cell.offloads else "off",
                "expected_MBps": cell.expected_MBps,
                "goodput_MBps": goodput,
                "error_percent": error,
                "within_percent": cell.within_percent,
                "verdict": _verdict(error, cell, used),
                "repeats": len(used),
                "flags": ",".join(flags),
            }
        )
    return pd.DataFrame.from_records(rows, columns=list(CELL_COLUMNS))


def _verdict(error_percent: float, cell: RateCell, used: list[dict]) -> str:
    if not used:
        return NOT_MEASURED
    if abs(error_percent) <= cell.within_percent:
        return WITHIN
    disturbed = all("interference" in run["flags"].split(",") for run in used)
    return DISTURBED if disturbed else OUTSIDE
