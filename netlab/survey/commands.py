"""``netlab init | measure``: a study of two hosts, and their goodput in one line."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command("measure", runs="netlab.survey.short_study:measure_path")
@click.argument("left")
@click.argument("right", required=False)
@click.option("--both", is_flag=True, help="Both directions at the same time.")
@click.option(
    "--streams", type=click.IntRange(1, 128), default=4, help="TCP streams of each direction."
)
@click.option("--json", "as_json", is_flag=True, help="Print a line of JSON instead.")
@click.option("--identity-file", metavar="FILE", help="Private key for SSH.")
def measure_command() -> None:
    """Measure the path between two hosts, and print its goodput and its limit in one line.

    LEFT and RIGHT are SSH names as of `netlab init`; `netlab measure lab` takes the built-in lab.
    Three runs of a second, within some 15 s; longer on long paths, which start slowly. The last
    line is the study that was measured: `netlab study` measures further rounds and reports. Exit
    code 4: all runs were flagged; 1: all failed.
    """


@main.command("init", runs="netlab.survey.surveying:init")
@click.argument("left")
@click.argument("right")
@options.file_option("-o", "--output", help="File to write; LEFT-RIGHT.yml by default.")
@click.option("--data", nargs=2, metavar="ADDRESS ADDRESS", help="Data addresses of both ends.")
@click.option("--identity-file", metavar="FILE", help="Private key for SSH.")
@click.option("--force", is_flag=True, help="Write over an existing file.")
def init_command() -> None:
    """Look at two hosts, and write a study of the path between them.

    LEFT and RIGHT are SSH names: HOST, USER@HOST or HOST:PORT, or aliases of ~/.ssh/config. The
    interfaces that join them are found by their addresses and a TCP connection to netlab's agent.
    What would spoil a measurement is listed with the command or the knob that helps; no setting of
    the hosts is changed.
    """
