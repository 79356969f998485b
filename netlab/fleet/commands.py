"""``netlab fleet``: one study over many pairs of hosts."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli import options
from netlab.cli.main import main

LEVEL = click.FloatRange(min=0.5, max=1, min_open=True, max_open=True)
AT_LEAST_1 = click.IntRange(min=1)


FORMATS = ("netlab", "ansible", "ini", "ssh")


stores_options = options.together(
    click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option("--study", help="Only this study; by default all."),
    click.option("--confidence", type=LEVEL, default=0.95, help="Level of intervals."),
    options.file_option("--csv", help="Write all rows."),
    click.option("--most", type=AT_LEAST_1, default=20, help="Rows printed."),
)


_plan_options = options.together(
    options.study_argument,
    options.timing_options,
    options.file_option(
        "--inventory",
        required=True,
        help="Hosts: netlab's YAML, an Ansible inventory, or an SSH configuration.",
    ),
    click.option(
        "--format",
        "format_",
        type=click.Choice(FORMATS),
        help="Format of the inventory; recognised by default.",
    ),
    options.text_option(
        "--pairs",
        metavar="RULE",
        help="all, ring, star=HOST, given, or A:B,C:D. Default: given if there are, else ring.",
    ),
    options.levels_option(
        "--only", metavar="GROUP", help="Hosts of a group, or with LABEL=VALUE; may be repeated."
    ),
    click.option(
        "--batch-s",
        type=click.FloatRange(min=0),
        default=60.0,
        help="Jobs of a pair in one round that take less together share a process, in seconds.",
    ),
    options.results_option(),
)


@main.group("fleet")
def fleet_group() -> None:
    """Measure one study over many pairs of hosts, side by side (see docs/fleet.md)."""


@fleet_group.command(
    "plan", validates="netlab.cli.loading:measurable", runs="netlab.fleet.running:plan_fleet"
)
@_plan_options
def plan_command() -> None:
    """Plan STUDY over pairs of hosts, and write the workflow; no host is reached.

    The two hosts of STUDY stand for those of each pair. Prints the folder of the workflow.
    """


@fleet_group.command(
    "run", validates="netlab.cli.loading:measurable", runs="netlab.fleet.running:run"
)
@_plan_options
@click.option(
    "--at-once",
    type=AT_LEAST_1,
    help="Pairs measured at a time. Default: half the hosts, at most 8.",
)
@click.option(
    "--attempts", type=AT_LEAST_1, default=3, help="Passes; each tries a job that failed once."
)
@click.option(
    "--skip-after",
    type=AT_LEAST_1,
    default=3,
    help="Failures in a row after which a host is skipped for the rest of a pass.",
)
@click.option(
    "--retry-s", type=click.FloatRange(min=0), default=20.0, help="Time between passes, in seconds."
)
def run_command() -> None:
    """Measure STUDY over pairs of hosts; a second call does only what is missing.

    Prints the directory of the results; those of a pair are in pairs/A~B. Exit code 1 if a job has
    no result.
    """


@fleet_group.command("status", runs="netlab.fleet.listing:status")
@click.argument("results", type=click.Path(path_type=Path))
def status_command() -> None:
    """Show hosts and jobs of the fleet in RESULTS: done, running, failed, skipped.

    RESULTS is a directory, or the name of a study. The log is fleet/events.jsonl in it.
    """


@fleet_group.command("links", runs="netlab.fleet.listing:links")
@click.argument("results", type=click.Path(path_type=Path))
@options.file_option("--csv", help="Write every cell of every link.")
@options.file_option("--chart", help="Write a matrix of the hosts as SVG.")
@click.option("--most", type=AT_LEAST_1, default=10, help="Lines.")
def links_command() -> None:
    """List the slowest links of the fleet in RESULTS, and the hosts whose links all differ.

    The share of a link is its goodput over the median of all links, cell by cell. A star marks a
    link that is slower than its other direction by 10 % or more. A host is named if its links, as
    sender or as receiver, are slower or faster than those of others (at least 4 links).
    """


@fleet_group.command("report", runs="netlab.fleet.listing:report")
@click.argument("results", type=click.Path(path_type=Path))
@options.site_option
def report_command() -> None:
    """Write the report of the fleet in RESULTS, and print its path.

    RESULTS is a directory, or the name of a study. The pages show the matrix of hosts, the slowest
    links and asymmetric pairs, the links of each host and the hosts that stand out, and the state
    of the campaign. `netlab report` of a pair's own study has all its cells.
    """


@fleet_group.command("cells", runs="netlab.fleet.listing:cells")
@stores_options
@click.option("--samples", is_flag=True, help="Quantiles of the interval samples instead.")
def cells_command() -> None:
    """Show the cells of all results in and below directories with their intervals, in MB/s.

    Prints the first rows of each study's cells; --csv writes all of them.
    """


@fleet_group.command("compare", runs="netlab.fleet.listing:compare")
@stores_options
@click.option("--by", required=True, help="campaign, study, or a factor such as tuning.")
@click.option("--of", "levels", required=True, nargs=2, metavar="A B", help="Its two levels.")
def compare_command() -> None:
    """Compare two levels over all cells of results in and below directories: ratios B / A.

    All intervals hold at once. The campaigns first and latest are those of each store. A cell that
    is less precise than its study asks is not ranked, and its verdict is "cannot tell".
    """
