"""``netlab mlrsearch``: the highest rates of datagrams without loss, or with little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from netlab.cli import loading, options
from netlab.cli.main import main
from netlab.errors import NetlabError
from netlab.files import paths
from netlab.search.mlrsearch.bounds import DOCUMENT, FOLDER, bounds_table
from netlab.search.mlrsearch.run import mlrsearch
from netlab.search.mlrsearch.search import Goals


@main.command("mlrsearch")
@options.study_argument
@options.levels_option("--loss", "loss_percent", default=(0.0, 0.5), help="Goal loss ratio, %.")
@click.option("--width", "width_percent", default=0.5, help="Goal width, % of the upper bound.")
@click.option("--trial", "trial_s", default=1.0, help="Goal final trial duration, s.")
@click.option("--duration-sum", "duration_sum_s", default=21.0, help="Goal duration sum, s.")
@click.option("--exceed", "exceed_percent", default=50.0, help="Goal exceed ratio, %.")
@options.results_option(place="STUDY/mlrsearch")
def mlrsearch_command(study: str, results: Path | None, **goals: Any) -> None:
    """Find the highest rate without loss, and with little, of each cell of datagrams of STUDY.

    MLRsearch (draft-ietf-bmwg-mlrsearch) varies the load below the study's `socket.pacing_MBps`.
    Each trial is a run, stored like those of a study; a second call repeats no valid one. A flagged
    trial is measured again `noise.retries` times. Bounds that a sender or a receiver that does not
    keep up sets are not reported as the path's. The table is bounds.csv in --results; in its
    default place it is a page of the study's report. Exit code 1 if a search could not end.
    """
    loaded = loading.load_measurable(study)
    place = results or paths.results_dir(loaded.name) / FOLDER
    bounds = mlrsearch(loaded, Goals(**goals), place, say=options.note)
    heads, rows = bounds_table(bounds).texts()
    click.echo(f"{options.in_columns(*map(tuple, heads + rows))}\n{place / DOCUMENT}")
    if ended := [text for text in bounds["message"].unique() if text]:
        raise NetlabError(f"{len(ended)} searches ended: {ended[0]}", code="E-CLI-036")
