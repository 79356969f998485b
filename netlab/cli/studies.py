"""Commands on a study: ``check``, ``run``, ``report``, ``study``."""

from __future__ import annotations

import click

from netlab.cli import options
from netlab.cli.main import main


@main.command(
    "check", validates="netlab.cli.loading:measurable", runs="netlab.cli.checking:check_study"
)
@options.study_argument
@options.timing_options
@options.results_option()
def check_command() -> None:
    """Check that STUDY can run: hosts, keys, sudo, interfaces, MTUs, space, limits, ceilings.

    Nothing stays changed. All is checked before the first line is printed. Exit code 1 if a check
    failed, 2 if the study cannot be used.
    """


@main.command("run", validates="netlab.cli.loading:measurable", runs="netlab.cli.measuring:run")
@options.study_argument
@options.timing_options
@options.outer_option
@options.results_option()
def run_command() -> None:
    """Measure every run of STUDY that has no valid record yet.

    Print the directory of the results. STUDY is the name of a study or the path of its file. Exit
    code 1: all runs of a cell failed; 4: measured, and a cell has only flagged runs, or none yet.
    """


@main.command(
    "report",
    validates="netlab.cli.loading:any_measured",
    runs="netlab.cli.reporting:report",
)
@options.study_argument
@options.quick_option
@options.results_option()
@options.site_option
@options.author_option
@options.url_option
@options.text_option("--against", help="Add a page that compares with these other results.")
@click.option("--single-file", is_flag=True, help="Also write the study's pages as one HTML file.")
@click.option("--fresh", is_flag=True, help="Make every page anew, also those that did not change.")
def report_command() -> None:
    """Write the report of what STUDY has measured, and print its path.

    STUDY is the name of a study or of results, the path of its file, or the directory of its
    results. The report is of the study as it was measured last, whatever its file says by now;
    RESULTS@CAMPAIGN names an earlier campaign (see `netlab results list`). One HTML file, to be
    mailed, has no notebooks, no pages of single runs and no files; the path printed is then its
    own. Exit code 4: it is written, with a banner: below the quality gate,
    cells are empty, flagged or less precise than asked, or more than 5 % of the runs are
    flagged.
    """


@main.command(
    "study",
    validates="netlab.cli.loading:measurable_and_notebooks",
    runs="netlab.cli.whole_study:measure_and_report",
)
@options.study_argument
@options.timing_options
@options.outer_option
@options.results_option()
@options.site_option
def study_command() -> None:
    """Measure STUDY and write its report: `run`, then `report`.

    The last line is the path of the report. STUDY is the name of a study or the path of its file.
    Exit code 4: the report is written, with a banner: below the quality gate, see `netlab report`,
    or all runs of a cell failed.
    """
