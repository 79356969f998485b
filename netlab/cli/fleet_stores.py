"""``netlab fleet cells | compare``: questions to the results of many stores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.exitcodes import guarded

if TYPE_CHECKING:
    import pandas as pd

    from netlab.fleet.stores.stores import Stores

LEVEL = click.FloatRange(min=0.5, max=1, min_open=True, max_open=True)


def stores_options(function: Callable) -> Callable:
    """Options of the commands that query many stores."""
    for option in (  # the last one is the first of the help
        click.option(
            "--most",
            type=click.IntRange(min=1),
            default=20,
            show_default=True,
            help="Rows printed.",
        ),
        click.option(
            "--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write all rows."
        ),
        click.option(
            "--confidence", type=LEVEL, default=0.95, show_default=True, help="Level of intervals."
        ),
        click.option("--study", help="Only this study; by default all."),
        click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function


@click.command("cells")
@stores_options
@click.option("--samples", is_flag=True, help="Quantiles of the interval samples instead.")
@guarded
def cells_command(
    results: tuple[Path, ...],
    study: str | None,
    confidence: float,
    csv: Path | None,
    most: int,
    samples: bool,
) -> None:
    """Show the cells of all results in and below directories with their intervals, in MB/s.

    Prints the first rows of each study's cells; --csv writes all of them.
    """
    opened = _opened(results)
    if samples:
        found = opened.samples(study)
        figures = [name for name in found if name.endswith("_MBps")]
    else:
        found = opened.cells(study, confidence=confidence)
        figures = ["goodput_MBps", "low_MBps", "high_MBps", "n_valid", "n_flagged"]
    _show(found, figures, csv, most)


@click.command("compare")
@stores_options
@click.option("--by", required=True, help="campaign, study, or a factor such as tuning.")
@click.option("--of", "levels", required=True, nargs=2, metavar="A B", help="Its two levels.")
@guarded
def compare_command(
    results: tuple[Path, ...],
    study: str | None,
    confidence: float,
    csv: Path | None,
    most: int,
    by: str,
    levels: tuple[str, str],
) -> None:
    """Compare two levels over all cells of results in and below directories: ratios B / A.

    All intervals hold at once. The campaigns first and latest are those of each store. A cell that
    is less precise than its study asks is not ranked, and its verdict is "cannot tell".
    """
    opened = _opened(results)
    found = opened.compare(by, *levels, study=study, confidence=confidence)
    found = found.iloc[(found["ratio"] - 1).abs().argsort(kind="stable")[::-1]]
    for word, count in found["verdict"].value_counts().items():
        click.echo(f"{count:7d}  {word}")
    if not found["ranked"].all():
        click.echo(f"{(~found['ranked']).sum():7d}  of these not ranked")
    _show(found, ["ratio", "low", "high", "p_holm", "verdict", "reason"], csv, most)


def _opened(results: tuple[Path, ...]) -> Stores:
    from netlab.files import paths
    from netlab.fleet.stores.stores import stores_below

    return stores_below(map(paths.given_path, results))


def _show(found: pd.DataFrame, figures: list[str], csv: Path | None, most: int) -> None:
    """Print the first rows: columns that tell them apart, then figures; write all as CSV."""
    labels = ("study", "sender", "receiver", "group", "tuning", "mtu_B", "streams", "factors")
    shown = [name for name in labels if name in found and found[name].nunique() > 1]
    head = found[[*shown, *figures]].head(most)
    click.echo(head.to_string(index=False, float_format="%.4g"))
    if len(found) > most:
        click.echo(f"netlab: {most} of {len(found)} rows", err=True)
    if csv is not None:
        found.to_csv(csv, index=False)
