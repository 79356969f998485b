"""``netlab import``: add the output of other tools to the results."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from netlab.cli.exitcodes import guarded
from netlab.cli.options import results_option
from netlab.errors import BadInput


def _name(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from netlab.study import is_name

    if value is None or is_name(value):
        return value
    raise click.BadParameter("a name has letters, digits, '.', '_' and '-', and 48 of them at most")


def _moment(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> datetime | str | None:
    if value is None or value == "mtime":
        return value
    try:
        moment = datetime.fromisoformat(value)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter("write mtime, or a time like 2003-03-03T07:07:34+01:00") from None
    if not 1970 < moment.year < 2190:
        raise click.BadParameter("the year must be from 1971 to 2189")
    return moment


@click.command("import")
@click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)
@click.option("--study-name", required=True, callback=_name, help="Study the runs belong to.")
@click.option("--sender", required=True, callback=_name, help="Host that sent.")
@click.option("--receiver", required=True, callback=_name, help="Host that received.")
@click.option("--path", callback=_name, help="Name of the path. Default: SENDER-RECEIVER.")
@click.option("--group", callback=_name, help="Group of the study. Default: the tool.")
@click.option("--tuning", callback=_name, default="unknown", show_default=True, help="Tuning.")
@click.option("--mtu", type=click.IntRange(68, 65536), help="MTU, B, if the file has no MSS.")
@click.option(
    "--streams", type=click.IntRange(1, 100_000), help="Streams, if the file has no number."
)
@click.option("--record-length", type=click.IntRange(1, 2**40), help="Bytes of one send().")
@click.option("--buffer", type=click.IntRange(0, 2**40), help="Requested socket buffer, B.")
@click.option("--congestion", callback=_name, help="Congestion control.")
@click.option(
    "--started-at",
    callback=_moment,
    help="Start of the runs, or mtime: the modification time of each file.",
)
@click.option(
    "--measured-at",
    type=click.Choice(["sender", "receiver"]),
    help="End that wrote the report, if the report does not say (GenSink's).",
)
@results_option("--into")
@guarded
def import_command(files: tuple[Path, ...], results: Path | None, **options: Any) -> None:
    """Import results of iperf3 (JSON), iperf 2, nuttcp, ttcp, rapid, GenSink or flent.

    FILE may be a directory: all files in it, except hidden ones. All files are parsed before
    anything is written. A file that was imported before is skipped.
    """
    from netlab.files import paths
    from netlab.results.imports.batch import import_files
    from netlab.results.imports.rows import Facts

    facts = Facts(
        study=options["study_name"],
        sender=options["sender"],
        receiver=options["receiver"],
        path=options["path"],
        group=options["group"],
        tuning=options["tuning"],
        mtu_B=options["mtu"],
        streams=options["streams"],
        record_length_B=options["record_length"],
        buffer_B=options["buffer"],
        congestion=options["congestion"],
        started_at=options["started_at"],
        measured_at=options["measured_at"],
    )
    if facts.sender == facts.receiver:
        raise BadInput(
            "sender and receiver are the same host", value=facts.sender, code="E-CLI-006"
        )
    directory = results or paths.results_dir(facts.study)
    done = import_files(_expanded(files), facts, directory)
    for path in done.known:
        click.echo(f"{path}: imported before", err=True)
    click.echo(f"netlab: {len(done.run_ids)} runs imported into {directory}", err=True)
    for run_id in done.run_ids:
        click.echo(run_id)


def _expanded(files: tuple[Path, ...]) -> list[Path]:
    found: list[Path] = []
    for path in files:
        if path.is_dir():
            inside = sorted(
                one for one in path.iterdir() if one.is_file() and not one.name.startswith(".")
            )
            if not inside:
                raise BadInput(
                    "the directory has no files to import", where=str(path), code="E-CLI-007"
                )
            found += inside
        else:
            found.append(path)
    return found
