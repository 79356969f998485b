"""``netlab bench``: compare netlab with the other tools that are installed."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option


@click.command("bench")
@click.option("--quick", is_flag=True, help="Measure a few cells, in three rounds of one second.")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    help="Name of a tool; repeatable. Default: all.",
)
@click.option("--streams", multiple=True, type=int, help="Instead of 1, 4, 20, 200; repeatable.")
@click.option("--mtu", "mtus_B", multiple=True, type=int, help="Instead of 1500 and 9000.")
@click.option("--offloads", multiple=True, type=click.Choice(["on", "off"]), help="Default: both.")
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(["same", "best"]),
    help="same: one record length, bytes copied; best: the best variant of each tool.",
)
@click.option("--rounds", type=int, help="Transfers of each tool in each cell.")
@click.option("--seconds", type=int, help="Length of a transfer in whole seconds.")
@click.option("--heats", type=int, help="Transfers of 1 s of each variant, to choose the best.")
@click.option(
    "--queues",
    type=int,
    help="Pairs of queues of the links. Default: one for each CPU.",
)
@click.option("--seed", type=int, help="Seed of the shuffled order.")
@results_option("--out", place="bench")
@guarded
def bench_command(
    quick: bool, peers: tuple[str, ...], results: Path | None, **levels: object
) -> None:
    """Compare netlab with iperf3, iperf, nuttcp and neper on lab paths.

    netlab takes part twice: as gensink, and as plain, its engine of send() and recv() in a loop
    and nothing else. plain is compared with gensink, and is not counted among the peers.

    A tool is used if it is on PATH or NETLAB_IPERF3, NETLAB_IPERF2, NETLAB_NUTTCP or NETLAB_NEPER
    names it. In mode best each tool has variants (record length, ways to avoid copies). Heats
    before the rounds choose one variant for each cell and are not part of any figure. With --quick
    each tool has its first two variants, and one heat. Everything runs in a lab of its own, which
    is removed at the end. Each run is stored in a directory of its own, named by its date; every
    transfer is in its transfers.jsonl as soon as it ends.
    """
    _bench(quick, peers, results, levels)


def _bench(quick: bool, peers: tuple[str, ...], results: Path | None, levels: dict) -> None:
    from netlab.qualify.bench.installed import find_tools
    from netlab.qualify.bench.rounds import QUICK, Matrix

    given = {key: value for key, value in levels.items() if value not in (None, ())}
    matrix = replace(QUICK if quick else Matrix(), **given)
    installed = find_tools(peers)
    # Import what takes long after the options are validated.
    from netlab.charts.bench import ratio_panels, ratios_alt
    from netlab.charts.chart import save_svg
    from netlab.experiment.progress import Steady
    from netlab.files import paths
    from netlab.qualify.bench.document import Conclusions
    from netlab.qualify.bench.run import run_bench
    from netlab.qualify.bench.transfers import TransferLog

    started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    log = TransferLog(results or paths.results_dir("bench"), started_at)
    try:
        with Steady(desc="netlab bench", unit="transfer") as bar:

            def progress(turn, sample, turns):
                bar.total = turns
                bar.update()
                if sample is None:
                    return
                log.write(sample)
                if sample["error"]:
                    who = f"{turn.contender}, {sample['variant']}"
                    bar.write(f"netlab: {who}: {sample['error']}", file=sys.stderr)

            bench = run_bench(matrix, installed, started_at=started_at, progress=progress)
    except BaseException:
        if log.count:
            said = f"netlab: {log.count} transfers were made before that, see {log.path}"
            click.echo(said, err=True)
        raise
    conclusions = Conclusions.of(bench)
    path = conclusions.save(log.directory)
    if conclusions.ratios["ratio"].notna().any():
        drawn = ratio_panels(conclusions.ratios)
        save_svg(drawn.figure, log.directory / "bench.svg", ratios_alt(conclusions.ratios))
    click.echo(conclusions.to_text())
    click.echo(path)
