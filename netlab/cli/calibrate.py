"""``netlab calibrate``: how far netlab's figures and emulated paths are from what is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.errors import BadInput, NetlabError

RATES, EMULATOR = "rates", "emulator"
OF_RATES = {
    "rates_Mbps": "--rate",
    "mtus_B": "--mtu",
    "seconds": "--seconds",
    "repeats": "--repeats",
}
OF_EMULATOR = {"rtts_ms": "--rtt"}


@click.command("calibrate")
@click.option("--quick", is_flag=True, help="A few cells of each, one short run each.")
@click.option(
    "--only",
    type=click.Choice([RATES, EMULATOR]),
    help="rates: shaped lab paths; emulator: the path emulator. Both when left out.",
)
@click.option("--rate", "rates_Mbps", multiple=True, type=float, help="Mb/s of frames; repeatable.")
@click.option("--mtu", "mtus_B", multiple=True, type=int, help="Of a rate; repeatable.")
@click.option("--seconds", type=float, help="Measured seconds a run, more where frames are long.")
@click.option("--repeats", type=int, help="Runs of a rate.")
@click.option(
    "--rtt", "rtts_ms", multiple=True, type=float, help="Emulated round trip, ms; repeatable."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for tables and JSON; data/results/calibration when left out.",
)
@guarded
def calibrate_command(quick: bool, only: str | None, out: Path | None, **levels: object) -> None:
    """Measure lab paths of known rate, then the path emulator; exit code 1 if a cell is off.

    The core is held to 0.5 % of what TCP can carry at the rate, and to 1 % from 10 Gb/s. The
    emulator is held to its round trips, idle and under load, whose mean may be off by 0.2 ms or
    0.5 %, whichever is more, and to its rates, within 1 %.
    """
    given = {key: value for key, value in levels.items() if value not in (None, ())}
    for part, options in ((EMULATOR, OF_RATES), (RATES, OF_EMULATOR)):
        unheard = [options[key] for key in options if key in given]
        if only == part and unheard:
            raise BadInput(f"--only {part} takes no {', '.join(unheard)}")
    _calibrate(quick, only, out, given)


def _calibrate(quick: bool, only: str | None, out: Path | None, given: dict) -> None:
    from netlab.files import paths
    from netlab.lab import emulator
    from netlab.qualify.calibration.document import Document
    from netlab.qualify.calibration.emulator_cells import QUICK_EMULATOR, EmulatorPlan
    from netlab.qualify.calibration.emulator_run import calibrate_emulator
    from netlab.qualify.calibration.rate_cells import QUICK, RatePlan
    from netlab.qualify.calibration.rate_run import calibrate

    parts: dict[str, tuple[Callable, RatePlan | EmulatorPlan]] = {}
    if only != EMULATOR:
        levels = {key: given[key] for key in OF_RATES if key in given}
        parts[RATES] = calibrate, replace(QUICK if quick else RatePlan(), **levels)
    if only != RATES:
        # Before minutes of rates, not after them.
        emulator.check()
        levels = {key: given[key] for key in OF_EMULATOR if key in given}
        plan = replace(QUICK_EMULATOR if quick else EmulatorPlan(), **levels)
        parts[EMULATOR] = calibrate_emulator, plan
    directory = out or paths.results_dir("calibration")
    document = Document(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    for name, (measure, plan) in parts.items():
        part = _with_bar(name, measure, plan)
        # Saved part by part, so that what fails later costs nothing.
        document = replace(document, **{name: part})
        path = document.save(directory)
        click.echo(part.to_text())
    click.echo(path)
    if document.complaint:
        raise NetlabError(document.complaint)


def _with_bar(name: str, measure: Callable, plan: object) -> object:
    """Measure a part, with a bar that shows how far it is."""
    from tqdm import tqdm

    with tqdm(desc=f"netlab calibrate: {name}", unit="cell") as bar:

        def progress(sample: dict, runs: int) -> None:
            bar.total = runs
            bar.update()

        return measure(plan, progress=progress)
