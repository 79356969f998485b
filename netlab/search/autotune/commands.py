"""``netlab autotune``: find the best setting of a path within a budget."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command("autotune", runs="netlab.search.autotune.searching:search")
@click.argument("path", default="lab")
@click.option("--study", help="Study file or name. Default: two hosts of the lab.")
@click.option(
    "--for",
    "aim",
    type=click.Choice(["goodput", "cpu"]),
    default="goodput",
    help="Highest goodput, or least CPU time per byte of both hosts.",
)
@click.option("--seconds", default=120.0, help="Budget of the search.")
@click.option(
    "--direction",
    type=click.Choice(["->", "<->"]),
    help="One way or both. Default: as in the study's group.",
)
@click.option("--sender", help="Host that sends. Default: as in the study's group.")
@click.option("--tuning", help="Apply this tuning of the study to both hosts.")
@click.option("--mtu", "mtu_B", type=int, help="Set this MTU at both ends.")
@options.levels_option("--record-length", "record_length_B", type=int, help="B to try; repeatable.")
@options.levels_option(
    "--buffer", "buffer_B", type=int, help="Socket buffer to try, B; 0: the kernel's; repeatable."
)
@options.levels_option("--streams", type=int, help="Streams to try; repeatable.")
@click.option(
    "--engines",
    type=click.Choice(["same", "all"]),
    default="same",
    help="all: also try to send and receive without copying every byte.",
)
@click.option(
    "--noisy", is_flag=True, help="Use runs with steal, foreign load or a late emulator too."
)
@click.option("--seed", type=int, help="Seed of the shuffled order. Default: the study's.")
@options.file_option(
    "--output",
    help="YAML file for the winner, JSON beside it. Default: STUDY-PATH.yml in --results.",
)
@options.results_option(place="autotune")
@options.file_option("--chart", help="Draw the search into this .svg or .png.")
def autotune_command() -> None:
    """Find the best record length, socket buffer, streams and engine of PATH.

    PATH is the name of a path of the study; without a study, "lab" is an unshaped path between two
    lab hosts. The search starts from the settings of the study: record length and buffer of the
    path's group, and the first of its stream counts.

    Candidates race in shuffled rounds of short runs, one factor at a time. A candidate is dropped
    as soon as the interval of its difference to the leader shows that it is worse. A last race
    compares the best few with what you had; "no better than what you had" is a valid result.
    Flagged runs are not used, and are repeated as time allows.

    --record-length, --buffer and --streams replace netlab's own levels; the present value is tried
    as well. The budget of --seconds is for everything; if a host hangs, the end may come up to 30 s
    late. Each round is reported on standard error, the table and the conclusion on standard
    output. Files: the winner as keys of a study (YAML), and every run (JSON); other files of these
    names are refused. Exit code 1 if the budget allows no conclusion, or a setting of a host
    changed meanwhile.
    """
