"""``netlab calibrate``: compare netlab's figures and emulated paths with known values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option
from netlab.errors import BadInput, NetlabError

if TYPE_CHECKING:
    from netlab.qualify.calibration.emulator import EmulatorAccuracy
    from netlab.qualify.calibration.rate_run import Calibration

RATES, EMULATOR = "rates", "emulator"
OF_RATES = {
    "rates_Mbps": "--rate",
    "mtus_B": "--mtu",
    "seconds": "--seconds",
    "repeats": "--repeats",
}
OF_EMULATOR = {"rtts_ms": "--rtt"}


@click.command("calibrate")
@click.option("--quick", is_flag=True, help="Measure a few cells of each part, one short run each.")
@click.option(
    "--only",
    type=click.Choice([RATES, EMULATOR]),
    help="rates: shaped lab paths; emulator: the path emulator. Default: both.",
)
@click.option(
    "--rate", "rates_Mbps", multiple=True, type=float, help="Rate of frames, Mb/s; repeatable."
)
@click.option(
    "--mtu", "mtus_B", multiple=True, type=int, help="MTU of the shaped paths, B; repeatable."
)
@click.option("--seconds", type=float, help="Measured seconds of each run; long frames take more.")
@click.option("--repeats", type=int, help="Runs of each rate.")
@click.option(
    "--rtt", "rtts_ms", multiple=True, type=float, help="Emulated round trip, ms; repeatable."
)
@results_option("--out", place="calibration")
@guarded
def calibrate_command(
    quick: bool,
    only: str | None,
    results: Path | None,
    **levels: object,
) -> None:
    """Measure lab paths of known rate, then the path emulator; exit code 1 if a cell is off.

    Limits: goodput within 0.5 % of what TCP can carry at the rate, 1 % from 10 Gb/s; the mean round
    trip of the emulator, idle and under load, within 0.2 ms or 0.5 %, whichever is more; its rates
    within 1 %.

    Each run is stored in a directory of its own, named by its date; reports use the latest run that
    has each part.
    """
    given = {key: value for key, value in levels.items() if value not in (None, ())}
    for part, options in ((EMULATOR, OF_RATES), (RATES, OF_EMULATOR)):
        unused = [options[key] for key in options if key in given]
        if only == part and unused:
            raise BadInput(
                f"--only {part} does not use {', '.join(unused)}; leave out one or the other",
                code="E-CLI-003",
            )
    _calibrate(quick, only, results, given)


def _calibrate(quick: bool, only: str | None, results: Path | None, given: dict) -> None:
    from netlab.files import dated, paths
    from netlab.lab import emulator
    from netlab.qualify.calibration.document import CalibrationDocument
    from netlab.qualify.calibration.emulator_cells import QUICK_EMULATOR, EmulatorPlan
    from netlab.qualify.calibration.emulator_run import calibrate_emulator
    from netlab.qualify.calibration.rate_cells import QUICK, RatePlan
    from netlab.qualify.calibration.rate_run import calibrate

    parts: dict[str, Callable] = {}
    if only in (None, RATES):
        levels = {key: given[key] for key in OF_RATES if key in given}
        rates = replace(QUICK if quick else RatePlan(), **levels)
        parts[RATES] = partial(calibrate, rates)
    if only in (None, EMULATOR):
        # Fail before minutes of rates, not after them.
        emulator.check()
        levels = {key: given[key] for key in OF_EMULATOR if key in given}
        plan = replace(QUICK_EMULATOR if quick else EmulatorPlan(), **levels)
        parts[EMULATOR] = partial(calibrate_emulator, plan)
    root = results or paths.results_dir("calibration")
    directory = None
    document = CalibrationDocument(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    for name, measure in parts.items():
        part = _with_bar(name, measure)
        # Save each part before the next one, which may fail.
        measured: dict[str, Any] = {name: part}
        document = replace(document, **measured)
        directory = directory or dated.new_directory(root, document.started_at)
        path = document.save(directory)
        click.echo(part.to_text())
    click.echo(path)
    if document.complaint:
        raise NetlabError(document.complaint, code="E-CLI-004")


def _with_bar(name: str, measure: Callable) -> Calibration | EmulatorAccuracy:
    """Measure a part, with a progress bar."""
    from netlab.experiment.progress import Steady

    with Steady(desc=f"netlab calibrate: {name}", unit="cell") as bar:

        def progress(sample: dict, runs: int) -> None:
            bar.total = runs
            bar.update()

        return measure(progress=progress)
