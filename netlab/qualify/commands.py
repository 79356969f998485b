"""``netlab bench | calibrate``: netlab beside other tools, and beside known values."""

from __future__ import annotations

import time
from typing import Any

import click

from netlab.cli import options
from netlab.cli.main import main

COUNT = click.IntRange(1, 1000)
RATES, EMULATOR = "rates", "emulator"
"""Parts of a calibration."""


def given_levels(levels: dict[str, Any]) -> dict[str, Any]:
    """Options that were given: the others are those of a plan."""
    return {key: value for key, value in levels.items() if value not in (None, ())}


def now() -> str:
    """Name of a directory that a command writes."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@main.command("bench", runs="netlab.qualify.benchmarking:run_bench")
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
def bench_command() -> None:
    """Compare netlab with iperf3, iperf, nuttcp and neper on lab paths.

    netlab takes part twice: as gensink, and as plain, its engine of send() and recv() in a loop
    and nothing else. plain is compared with gensink, and is not counted among the peers.

    A tool is used if it is on PATH or NETLAB_IPERF3, NETLAB_IPERF2, NETLAB_NUTTCP or NETLAB_NEPER
    names it. In mode best each tool has variants (record length, ways to avoid copies). Heats
    before the rounds choose one variant for each cell and are not part of any figure. With --quick
    each tool has its first two variants, and one heat. Each benchmark is a study of its own in a
    directory named by its date, its heats below it; one that was ended early goes on there.
    """


@main.command("calibrate", runs="netlab.qualify.calibrating:calibrate")
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
def calibrate_command() -> None:
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
