"""``netlab bench | calibrate``: netlab beside other tools, and beside known values."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from netlab.charts.chart import show
from netlab.cli import options
from netlab.cli.main import main
from netlab.cli.measuring import measure
from netlab.errors import NetlabError, check
from netlab.experiment.progress import Progress
from netlab.experiment.watcher import RunDone
from netlab.files import paths
from netlab.files.writing import new_directory
from netlab.lab import emulator
from netlab.qualify import bench, bench_conclusions, bench_ratios
from netlab.qualify.calibrated import document as document_calibration
from netlab.qualify.calibrated import emulator as emulator_calibration
from netlab.qualify.calibrated import emulator_cells, rate_cells, rates
from netlab.qualify.charts import ratio_panels
from netlab.qualify.words import measuring, truths
from netlab.results.store import Store

COUNT = click.IntRange(1, 1000)


@main.command("bench")
@click.option("--quick", is_flag=True, help="Measure a few cells, in three rounds of one second.")
@options.levels_option("--peer", "peers", help="Name of a tool; repeatable. Default: all.")
@options.levels_option(
    "--streams", type=click.IntRange(1, 10_000), help="Instead of 1, 4, 20, 200; repeatable."
)
@options.levels_option(
    "--mtu", "mtus_B", type=click.IntRange(576, 65535), help="Instead of 1500 and 9000."
)
@options.levels_option("--offloads", type=click.Choice(["on", "off"]), help="Default: both.")
@options.levels_option(
    "--mode",
    "modes",
    type=click.Choice(["same", "best"]),
    help="same: one record length, bytes copied; best: the best variant of each tool.",
)
@click.option("--rounds", type=COUNT, help="Transfers of each tool in each cell.")
@click.option("--seconds", type=COUNT, help="Length of a transfer in whole seconds.")
@click.option("--heats", type=COUNT, help="Transfers of 1 s of each variant, to choose the best.")
@click.option(
    "--queues",
    type=click.IntRange(1, 256),
    help="Pairs of queues of the links. Default: one for each CPU.",
)
@click.option("--seed", type=int, help="Seed of the shuffled order.")
@options.results_option("--out", place="bench")
def bench_command(quick: bool, peers: tuple[str, ...], results: Path | None, **levels: Any) -> None:
    """Compare netlab with iperf3, iperf, nuttcp and neper on lab paths.

    netlab takes part twice: as gensink, and as plain, its engine of send() and recv() in a loop
    and nothing else. plain is compared with gensink, and is not counted among the peers.

    A tool is used if it is on PATH or NETLAB_IPERF3, NETLAB_IPERF2, NETLAB_NUTTCP or NETLAB_NEPER
    names it. In mode best each tool has variants (record length, ways to avoid copies). Heats
    before the rounds choose one variant for each cell and are not part of any figure. With --quick
    each tool has its first two variants, and one heat. Each benchmark is a study of its own in a
    directory named by its date, its heats below it; one that was ended early goes on there.
    """
    matrix = replace(bench.QUICK if quick else bench.Matrix(), **_given(levels))
    tools = bench.find_tools(peers)
    place = results or paths.results_dir("bench")
    directory = bench.directory_of(place) or new_directory(place, _now())
    chosen: bench.Chosen = {}
    if (heats := bench.heats_study(matrix, tools)) is not None:
        measure(heats, directory / "heats", {})
        chosen = bench.choose(bench_ratios.samples_of(Store(directory / "heats").runs()))
    study = bench.rounds_study(matrix, tools, chosen)
    measure(study, directory, {})
    conclusions = bench_conclusions.Conclusions.of(study, directory)
    if conclusions.ratios["ratio"].notna().any():
        show(ratio_panels(conclusions.ratios)).save(directory / "bench.svg")
    conclusions.save(directory)
    click.echo(conclusions.to_text())
    click.echo(directory)


def _given(levels: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in levels.items() if value not in (None, ())}


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


RATES, EMULATOR = "rates", "emulator"
OPTIONS = {
    RATES: {
        **{"rates_Mbps": "--rate", "mtus_B": "--mtu"},
        **{"seconds": "--seconds", "repeats": "--repeats"},
    },
    EMULATOR: {"rtts_ms": "--rtt"},
}
"""Options of each part, by the field of its plan."""


@main.command("calibrate")
@click.option("--quick", is_flag=True, help="Measure a few cells of each part, one short run each.")
@click.option(
    "--only",
    type=click.Choice([RATES, EMULATOR]),
    help="rates: shaped lab paths; emulator: the path emulator. Default: both.",
)
@options.levels_option("--rate", "rates_Mbps", type=float, help="Rate of frames, Mb/s; repeatable.")
@options.levels_option("--mtu", "mtus_B", type=int, help="MTU of the shaped paths, B; repeatable.")
@click.option("--seconds", type=float, help="Measured seconds of each run; long frames take more.")
@click.option("--repeats", type=int, help="Runs of each rate.")
@options.levels_option("--rtt", "rtts_ms", type=float, help="Emulated round trip, ms; repeatable.")
@click.option(
    "--words",
    "of_words",
    is_flag=True,
    help="Measure runs whose limit is known, and the words that they are given, instead.",
)
@options.results_option("--out", place="calibration")
def calibrate_command(
    quick: bool, only: str | None, of_words: bool, results: Path | None, **levels: Any
) -> None:
    """Measure lab paths of known rate, then the path emulator; exit code 1 if a cell is off.

    Limits: goodput within 0.5 % of what TCP can carry at the rate, 1 % from 10 Gb/s; the mean round
    trip of the emulator, idle and under load, within 0.2 ms or 0.5 %, whichever is more; its rates
    within 1 %.

    Each run is stored in a directory of its own, named by its date; reports use the latest run that
    has each part.

    With --words: links, shapers, a policer, buffers, losses and programs that limit a run, ten runs
    each (--repeats; three with --quick). The table has the words that these runs are given; exit
    code 1 if fewer than nine in ten of a limit have its word.
    """
    given, parts_asked = _given(levels), [only] if only else list(OPTIONS)
    if of_words:
        names = {**OPTIONS[RATES], **OPTIONS[EMULATOR], "only": "--only"}
        asked = given | ({"only": only} if only else {})
        unused = [names[key] for key in asked if key != "repeats"]
        text = f"--words does not use {', '.join(unused)}; leave out one or the other"
        check(not unused, "", None, text, "E-CLI-060")
        _calibrate_words(given.get("repeats", 3 if quick else 10), results)
        return
    others = (OPTIONS[part] for part in OPTIONS.keys() - parts_asked)
    unused = [option for keys in others for key, option in keys.items() if key in given]
    text = f"--only {only} does not use {', '.join(unused)}; leave out one or the other"
    check(not unused, "", None, text, "E-CLI-003")
    if EMULATOR in parts_asked:
        emulator.check()  # fail before minutes of rates, not after them
    measures: dict[str, tuple[Callable, Any]] = {
        RATES: (rates.calibrate, rate_cells.QUICK if quick else rate_cells.RatePlan()),
        EMULATOR: (
            emulator_calibration.calibrate_emulator,
            emulator_cells.QUICK_EMULATOR if quick else emulator_cells.EmulatorPlan(),
        ),
    }
    plans = {
        name: replace(measures[name][1], **{k: given[k] for k in OPTIONS[name] if k in given})
        for name in parts_asked
    }
    started_at, parts, directory = _now(), {}, None
    for name, plan in plans.items():
        with Progress(report=False) as shown:
            shown.tally.place = name
            shown.start(len(plan.cells) * plan.tries, 0, 0, plan.seconds)

            def progress(sample, shown=shown):
                figures = (sample.get("goodput_MBps"), None, sample["flags"], sample["message"])
                shown.run_done(RunDone("", *figures))

            parts[name] = measures[name][0](plan, progress=progress)
        # Save each part before the next one, which may fail.
        place = results or paths.results_dir("calibration")
        directory = directory or new_directory(place, started_at)
        document = document_calibration.CalibrationDocument(started_at, **parts)
        path = document.save(directory)
        click.echo(parts[name].to_text())
    click.echo(path)
    if document.complaint:
        raise NetlabError(document.complaint, code="E-CLI-004")


def _calibrate_words(repeats: int, results: Path | None) -> None:
    emulator.check()
    plan, started_at = truths.WordsPlan(repeats=repeats), _now()
    with Progress(report=False) as shown:
        shown.tally.place = "words"
        shown.start(len(plan.truths) * repeats, 0, 0, measuring.RUN_S)

        def progress(sample: dict) -> None:
            message = f"{sample['truth']}: {sample['word']}"
            shown.run_done(RunDone("", sample["goodput_MBps"], None, sample["flags"], message))

        measured = measuring.measure_words(plan, progress=progress)
    directory = new_directory(results or paths.results_dir("calibration"), started_at)
    path = measured.save(directory, started_at)
    click.echo(measured.to_text())
    click.echo(path)
    if measured.complaint:
        raise NetlabError(measured.complaint, code="E-CLI-061")
