"""``netlab bench``: netlab beside the other tools that are installed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import click

from netlab.cli.exitcodes import guarded


@click.command("bench")
@click.option("--quick", is_flag=True, help="A few cells, three rounds of one second.")
@click.option("--peer", "peers", multiple=True, help="A tool by name; all that there are if none.")
@click.option("--streams", multiple=True, type=int, help="In place of 1, 4, 20, 200; repeatable.")
@click.option("--mtu", "mtus_B", multiple=True, type=int, help="In place of 1500 and 9000.")
@click.option("--offloads", multiple=True, type=click.Choice(["on", "off"]))
@click.option(
    "--mode",
    "modes",
    multiple=True,
    type=click.Choice(["same", "best"]),
    help="same: one record length, bytes copied; best: the variant that suits each tool.",
)
@click.option("--rounds", type=int, help="Transfers of each contender in each cell.")
@click.option("--seconds", type=int, help="Length of a transfer; whole, as some tools want it.")
@click.option("--heats", type=int, help="Transfers of 1 s of each variant before, to choose by.")
@click.option(
    "--queues",
    type=int,
    help="Pairs of queues of the links; one for each processor when left out.",
)
@click.option("--seed", type=int, help="Seed of the shuffled order.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory for tables, chart and JSON; data/results/bench when left out.",
)
@guarded
def bench_command(quick: bool, peers: tuple[str, ...], out: Path | None, **levels: object) -> None:
    """Compare netlab with iperf3, iperf, nuttcp and neper on lab paths.

    A tool counts when it is on PATH or named by NETLAB_IPERF3, NETLAB_IPERF2, NETLAB_NUTTCP or
    NETLAB_NEPER. In mode best each has variants (record length, ways to spare copies): heats before
    the rounds choose one a cell, and enter no figure. With --quick each has its first two, and one
    heat. Everything runs inside a lab of its own, which is gone afterwards.
    """
    _bench(quick, peers, out, levels)


def _bench(quick: bool, peers: tuple[str, ...], out: Path | None, levels: dict) -> None:
    from netlab.qualify.bench.installed import find_tools
    from netlab.qualify.bench.rounds import QUICK, Matrix

    given = {key: value for key, value in levels.items() if value not in (None, ())}
    matrix = replace(QUICK if quick else Matrix(), **given)
    installed = find_tools(peers)
    # What takes long to import comes after what the user may have got wrong.
    from tqdm import tqdm

    from netlab.charts.bench import ratios_alt, ratios_figure
    from netlab.charts.style import save_svg
    from netlab.files import paths
    from netlab.qualify.bench.document import Conclusions
    from netlab.qualify.bench.run import run_bench

    with tqdm(desc="netlab bench", unit="transfer") as bar:

        def progress(turn, sample, turns):
            bar.total = turns
            bar.update()
            if sample is not None and sample["error"]:
                who = f"{turn.contender}, {sample['variant']}"
                bar.write(f"netlab: {who}: {sample['error']}", file=sys.stderr)

        bench = run_bench(matrix, installed, progress=progress)
    conclusions = Conclusions.of(bench)
    directory = out or paths.results_dir("bench")
    path = conclusions.save(directory)
    if conclusions.ratios["ratio"].notna().any():
        figure = ratios_figure(conclusions.ratios)
        save_svg(figure, directory / "bench.svg", ratios_alt(conclusions.ratios))
    click.echo(conclusions.to_text())
    click.echo(path)
