"""``netlab import``: add the output of other tools to the results."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from netlab.cli import options
from netlab.cli.main import main
from netlab.errors import BadInput
from netlab.imports.facts import COUNTS, ENDS, FASTEST_Mbps, moment_of


def _name(_context: object, _option: object, value: str | None) -> str | None:
    # pydantic, for those who import and not for help
    from netlab.study import is_name

    if value is None or is_name(value):
        return value
    raise click.BadParameter("a name has letters, digits, '.', '_' and '-', and 48 of them at most")


def _moment(_context: object, _option: object, value: str | None) -> datetime | str | None:
    if value is None:
        return None
    try:
        return moment_of(value)
    except BadInput as error:
        raise click.BadParameter(str(error)) from None


@main.command("import", runs="netlab.imports.importing:import_results")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option(
    "--study-name", "study", required=True, callback=_name, help="Study the runs belong to."
)
@click.option("--sender", required=True, callback=_name, help="Host that sent.")
@click.option("--receiver", required=True, callback=_name, help="Host that received.")
@click.option("--path", callback=_name, help="Name of the path. Default: SENDER-RECEIVER.")
@click.option("--group", callback=_name, help="Group of the study. Default: the tool.")
@click.option("--tuning", callback=_name, default="unknown", help="Tuning.")
@click.option(
    "--mtu", "mtu_B", type=click.IntRange(*COUNTS["mtu_B"]), help="MTU, B, if the file has no MSS."
)
@click.option(
    "--streams", type=click.IntRange(*COUNTS["streams"]), help="Streams, if the file has no number."
)
@click.option(
    "--record-length",
    "record_length_B",
    type=click.IntRange(*COUNTS["record_length_B"]),
    help="Bytes of one send().",
)
@click.option(
    "--buffer",
    "buffer_B",
    type=click.IntRange(*COUNTS["buffer_B"]),
    help="Requested socket buffer, B.",
)
@click.option("--congestion", callback=_name, help="Congestion control.")
@click.option(
    "--started-at",
    callback=_moment,
    help="Start of the runs, in UTC if without an offset, or mtime: the modification time of each "
    "file.",
)
@click.option(
    "--measured-at",
    type=click.Choice(ENDS),
    help="End that wrote the report, if the report does not say (GenSink's).",
)
@click.option(
    "--link-rate",
    "link_Mbps",
    type=click.FloatRange(0, FASTEST_Mbps, min_open=True),
    help="Rate of the link, 10^6 bit/s: a run beyond it is flagged implausible.",
)
@click.option("--strict", is_flag=True, help="Import all runs of all files or none.")
@options.results_option("--into")
def import_command() -> None:
    """Import what other tools printed, such as iperf3, iperf 2, netperf, nuttcp or flent.

    FILE may be a directory: all files below it, except hidden ones. What can be read is imported,
    with the study that the runs imply, for `report` and `compare`; then every file is listed with
    its runs and the reason of each that was refused. A run that was imported before is skipped.
    Exit code 4: imported, without what was refused.
    """
