"""``netlab screen``: find the knobs of a tuning that matter, and the least set of them."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command("screen", runs="netlab.search.screen.screening:run_screen")
@options.study_argument
@click.option("--tuning", required=True, help="Tuning of the study, or one that netlab brings.")
@click.option("--group", "group_name", help="Group to measure. Default: the study's only one.")
@click.option("--streams", type=int, help="TCP streams. Default: the group's first.")
@click.option("--mtu", "mtu_B", type=int, help="MTU of all rows. Default: the tuning's first.")
@click.option(
    "--design",
    type=click.Choice(["auto", "full", "folded", "leave-one-out"]),
    default="auto",
    help="Rows to measure; auto: full for up to 4 knobs, else folded.",
)
@click.option(
    "--same-within", "same_within_percent", default=5.0, help="Bound of 'the same', per cent."
)
@click.option(
    "--confirm-rounds", default=10, help="Rounds that compare the least set with the whole tuning."
)
@options.timing_options
@options.results_option(place="STUDY/screens/TUNING")
@options.file_option(
    "--output", help="YAML file for the least set. Default: TUNING-least.yml in --results."
)
@click.option("--plan", "only_plan", is_flag=True, help="Show rows and time; measure nothing.")
def screen_command() -> None:
    """Find the knobs of a tuning that matter, on a path of STUDY.

    Each knob of the tuning is a factor with two levels: set, or left as found. The rows of a
    two-level design are measured in the study's rounds, each in a visit of its own. A knob that
    neither host has, or that both have at its value, is listed and is not a factor.

    Designs: full (all combinations; every pair), folded (Plackett-Burman and its mirror image;
    effects of knobs are free of pairs), leave-one-out. The least set is then compared with the
    whole tuning and with no knob in rounds of its own.

    Runs are stored like those of a study, and are not repeated by a second call. Files in
    --results: screen.json, effects.svg, and the least set as a tuning. In its default place the
    screen is a page of the study's report. Exit code 1 if the least set is not confirmed.
    """
