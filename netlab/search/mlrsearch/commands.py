"""``netlab mlrsearch``: the highest rates of datagrams without loss, or with little."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command(
    "mlrsearch",
    validates="netlab.cli.loading:measurable",
    runs="netlab.search.mlrsearch.searching:search",
)
@options.study_argument
@options.levels_option("--loss", "loss_percent", default=(0.0, 0.5), help="Goal loss ratio, %.")
@click.option("--width", "width_percent", default=0.5, help="Goal width, % of the upper bound.")
@click.option("--trial", "trial_s", default=1.0, help="Goal final trial duration, s.")
@click.option("--duration-sum", "duration_sum_s", default=21.0, help="Goal duration sum, s.")
@click.option("--exceed", "exceed_percent", default=50.0, help="Goal exceed ratio, %.")
@options.results_option(place="STUDY/mlrsearch")
def mlrsearch_command() -> None:
    """Find the highest rate without loss, and with little, of each cell of datagrams of STUDY.

    MLRsearch (draft-ietf-bmwg-mlrsearch) varies the load below the study's `socket.pacing_MBps`.
    Each trial is a run, stored like those of a study; a second call repeats no valid one. A flagged
    trial is measured again `noise.retries` times. Bounds that a sender or a receiver that does not
    keep up sets are not reported as the path's. The table is bounds.csv in --results; in its
    default place it is a page of the study's report. Exit code 1 if a search could not end.
    """
