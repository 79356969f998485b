"""``netlab calibrate``: how far netlab's figures are from known rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from netlab.errors import NetlabError
from netlab.exitcodes import guarded


@click.command("calibrate")
@click.option("--quick", is_flag=True, help="Two rates, three MTUs, one short run each.")
@click.option("--rate", "rates_Mbps", multiple=True, type=float, help="Mb/s of frames; repeatable.")
@click.option("--mtu", "mtus_B", multiple=True, type=int, help="Repeatable.")
@click.option("--seconds", type=float, help="Measured seconds a run, more where frames are long.")
@click.option("--repeats", type=int, help="Runs a cell.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for table and JSON; data/results/calibration when left out.",
)
@guarded
def calibrate_command(quick: bool, out: Path | None, **levels: object) -> None:
    """Measure lab paths shaped to known rates; exit code 1 if a cell is off its bound.

    The bound is 0.5 % of what TCP can carry at the rate, and 1 % from 10 Gb/s.
    """
    _calibrate(quick, out, levels)


def _calibrate(quick: bool, out: Path | None, levels: dict) -> None:
    from tqdm import tqdm

    from netlab import paths
    from netlab.calibration.cells import QUICK, Plan
    from netlab.calibration.run import calibrate
    from netlab.jsonfile import write_json

    given = {key: value for key, value in levels.items() if value not in (None, ())}
    plan = replace(QUICK if quick else Plan(), **given)
    with tqdm(desc="netlab calibrate", unit="run") as bar:

        def progress(sample, runs):
            bar.total = runs
            bar.update()

        calibration = calibrate(plan, progress=progress)
    directory = out or paths.results_dir("calibration")
    calibration.table().export(directory / "calibration")
    path = write_json(directory / "calibration.json", calibration.as_json())
    click.echo(calibration.to_text())
    click.echo(path)
    outside = calibration.outside
    if len(outside):
        counts = ", ".join(f"{n} {name}" for name, n in outside["verdict"].value_counts().items())
        raise NetlabError(
            f"{len(outside)} of {len(calibration.cells)} cells are not within their bound: {counts}"
        )
