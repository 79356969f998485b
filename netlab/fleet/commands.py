"""``netlab fleet``: one study over many pairs of hosts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli import options
from netlab.cli.main import main
from netlab.files import paths
from netlab.files.writing import write_text

if TYPE_CHECKING:
    import pandas as pd

    from netlab.fleet.plan import FleetPlan
    from netlab.fleet.records import Stores


@main.group("fleet")
def fleet_group() -> None:
    """Measure one study over many pairs of hosts, side by side (see docs/fleet.md)."""


# ``netlab fleet report``: matrix of hosts, slowest links and hosts of a fleet as a site.


@fleet_group.command("report")
@click.argument("results", type=click.Path(path_type=Path))
@options.site_option
def report_command(results: Path, site: Path | None) -> None:
    """Write the report of the fleet in RESULTS, and print its path.

    RESULTS is a directory, or the name of a study. The pages show the matrix of hosts, the slowest
    links and asymmetric pairs, the links of each host and the hosts that stand out, and the state
    of the campaign. `netlab report` of a pair's own study has all its cells.
    """
    from netlab.fleet.view import Fleet

    click.echo(Fleet(results).report(site).index)


# ``netlab fleet cells | compare``: questions to the results of many stores.

LEVEL = click.FloatRange(min=0.5, max=1, min_open=True, max_open=True)
AT_LEAST_1 = click.IntRange(min=1)

stores_options = options.together(
    click.argument("results", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option("--study", help="Only this study; by default all."),
    click.option("--confidence", type=LEVEL, default=0.95, help="Level of intervals."),
    options.file_option("--csv", help="Write all rows."),
    click.option("--most", type=AT_LEAST_1, default=20, help="Rows printed."),
)


@fleet_group.command("cells")
@stores_options
@click.option("--samples", is_flag=True, help="Quantiles of the interval samples instead.")
def cells_command(
    results: tuple[Path, ...], study: str | None, confidence: float, samples: bool, **shown: Any
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
    _show(found, figures, **shown)


@fleet_group.command("compare")
@stores_options
@click.option("--by", required=True, help="campaign, study, or a factor such as tuning.")
@click.option("--of", "levels", required=True, nargs=2, metavar="A B", help="Its two levels.")
def compare_command(
    results: tuple[Path, ...],
    study: str | None,
    confidence: float,
    by: str,
    levels: tuple[str, str],
    **shown: Any,
) -> None:
    """Compare two levels over all cells of results in and below directories: ratios B / A.

    All intervals hold at once. The campaigns first and latest are those of each store. A cell that
    is less precise than its study asks is not ranked, and its verdict is "cannot tell".
    """
    found = _opened(results).compare(by, *levels, study=study, confidence=confidence)
    found = found.iloc[(found["ratio"] - 1).abs().argsort(kind="stable")[::-1]]
    for word, count in found["verdict"].value_counts().items():
        click.echo(f"{count:7d}  {word}")
    if not found["ranked"].all():
        click.echo(f"{(~found['ranked']).sum():7d}  of these not ranked")
    _show(found, ["ratio", "low", "high", "p_holm", "verdict", "reason"], **shown)


def _opened(results: tuple[Path, ...]) -> Stores:
    from netlab.fleet.records import stores_below

    return stores_below(map(paths.given_path, results))


def _show(found: pd.DataFrame, figures: list[str], csv: Path | None, most: int) -> None:
    """Print the first rows: columns that tell them apart, then figures; write all as CSV."""
    labels = ("study", "sender", "receiver", "group", "tuning", "mtu_B", "streams", "factors")
    shown = [name for name in labels if name in found and found[name].nunique() > 1]
    head = found[[*shown, *figures]].head(most)
    click.echo(head.to_string(index=False, float_format="%.4g"))
    if len(found) > most:
        options.note(f"{most} of {len(found)} rows")
    if csv is not None:
        from netlab.files.tables import csv_of

        csv.write_text(csv_of(found), "utf-8")


FORMATS = ("netlab", "ansible", "ini", "ssh")


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


def _planned(
    study: str,
    inventory: Path,
    format_: Any,
    pairs: str,
    only: tuple[str, ...],
    results: Path | None,
    **timing: Any,
) -> FleetPlan:
    loaded = options.load_measurable(study, **timing)
    from netlab.fleet.controller import controlling
    from netlab.fleet.inventory import load_inventory, pairs_of
    from netlab.fleet.plan import make_plan

    hosts = load_inventory(inventory, format=format_).only(only)
    directory = results or paths.results_dir(loaded.name)
    chosen = pairs_of(hosts, pairs)
    with controlling(directory):
        return make_plan(loaded, hosts, chosen, directory)


@fleet_group.command("plan")
@_plan_options
def plan_command(batch_s: float, **asked: Any) -> None:
    """Plan STUDY over pairs of hosts, and write the workflow; no host is reached.

    The two hosts of STUDY stand for those of each pair. Prints the folder of the workflow.
    """
    plan = _planned(**asked)
    from netlab.fleet.controller import FleetOptions, controlling, open_campaign
    from netlab.fleet.inventory import rounds_of
    from netlab.fleet.plan import write_workflow

    left = list(plan.remaining())
    with controlling(plan.directory):
        number = open_campaign(plan, FleetOptions())["number"]
        at_once = _at_once(plan, None)
        folder = write_workflow(plan, left, at_once=at_once, number=number, batch_s=batch_s)
    runs = sum(job.visit.runs for job in plan.jobs)
    matches = len(rounds_of(plan.pairs))
    turns = max(matches, -(-len(plan.pairs) // at_once))
    least_s = sum(visit.seconds for visit in plan.visits) * turns
    bound = "at least" if plan.study().precision is None else "up to"
    options.note(
        f"{len(plan.pairs)} pairs of {len(plan.hosts)} hosts in {matches} rounds without a common "
        f"host; {len(plan.jobs)} jobs of {runs} runs, {len(left)} jobs left; {bound} "
        f"{least_s / 60:.0f} min of measuring"
    )
    click.echo(folder)


@fleet_group.command("run")
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
def run_command(at_once: int | None, **asked: Any) -> None:
    """Measure STUDY over pairs of hosts; a second call does only what is missing.

    Prints the directory of the results; those of a pair are in pairs/A~B. Exit code 1 if a job has
    no result.
    """
    from netlab.fleet.plan import require_engine

    require_engine()
    given = {name: asked.pop(name) for name in ("attempts", "skip_after", "retry_s", "batch_s")}
    plan = _planned(**asked)
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    from netlab.fleet.controller import FleetOptions, fleet_status, run_fleet

    chosen = FleetOptions(_at_once(plan, at_once), **given)
    console = Console(stderr=True, markup=False, highlight=False)
    # Without a thread of its own: the engine is forked meanwhile.
    with Live(console=console, auto_refresh=False, transient=True) as line:
        done = run_fleet(
            plan,
            chosen,
            say=lambda text: console.print(f"netlab: {text}", soft_wrap=True),
            watch=lambda: line.update(Text(fleet_status(plan).sentence), refresh=True),
        )
    click.echo(plan.directory)
    options.note(f"{done} of {len(plan.jobs)} jobs have a result")
    if done < len(plan.jobs):
        options.note("`netlab fleet status` has the reasons; run again to go on")
        sys.exit(1)


def _at_once(plan: FleetPlan, given: int | None) -> int:
    return given or max(1, min(8, len(plan.hosts) // 2))


@fleet_group.command("status")
@click.argument("results", type=click.Path(path_type=Path))
def status_command(results: Path) -> None:
    """Show hosts and jobs of the fleet in RESULTS: done, running, failed, skipped.

    RESULTS is a directory, or the name of a study. The log is fleet/events.jsonl in it.
    """
    from netlab.fleet.controller import HEADS
    from netlab.fleet.view import Fleet

    status = Fleet(results).status
    click.echo(status.sentence)
    click.echo(options.in_columns(HEADS, *(tuple(map(str, host)) for host in status.hosts)))


@fleet_group.command("links")
@click.argument("results", type=click.Path(path_type=Path))
@options.file_option("--csv", help="Write every cell of every link.")
@options.file_option("--chart", help="Write a matrix of the hosts as SVG.")
@click.option("--most", type=AT_LEAST_1, default=10, help="Lines.")
def links_command(results: Path, csv: Path | None, chart: Path | None, most: int) -> None:
    """List the slowest links of the fleet in RESULTS, and the hosts whose links all differ.

    The share of a link is its goodput over the median of all links, cell by cell. A star marks a
    link that is slower than its other direction by 10 % or more. A host is named if its links, as
    sender or as receiver, are slower or faster than those of others (at least 4 links).
    """
    from netlab.fleet.links import asymmetric
    from netlab.fleet.view import Fleet

    fleet = Fleet(results)
    found = fleet.links
    marks = asymmetric(found)
    click.echo("   goodput  link (% of the median of all links)")
    for row, marked in zip(found.head(most).itertuples(), marks, strict=False):
        star = " *" if marked else ""
        click.echo(f"{100 * row.share:8.1f} %  {row.sender} -> {row.receiver}{star}")
    for host in fleet.outlying.itertuples():
        click.echo(
            f"host {host.host} {host.role} at {100 * host.share:.1f} % of the others "
            f"({host.links} links, p {host.p:.2g})"
        )
    if csv is not None:
        from netlab.files.tables import csv_of

        csv.write_text(csv_of(fleet.cells, float_format="%.6g"), "utf-8")
    if chart is not None:
        from netlab.charts.chart import show

        write_text(chart, show(fleet.plot()).svg)
