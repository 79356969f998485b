"""Commands on a study and its hosts: from ``init`` to ``report``, ``lab``, ``hosts``, ``tune``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli import options
from netlab.cli.main import main
from netlab.errors import HostError, NetlabError, printable
from netlab.files import paths

if TYPE_CHECKING:
    from netlab.analysis.trust import Concern
    from netlab.experiment.campaign import Campaign
    from netlab.experiment.progress import Progress
    from netlab.lab.lab import Lab
    from netlab.report.site import PublishedReport
    from netlab.study import Study


# ``netlab check``: whether a study can run on its hosts.


@main.command("check")
@options.study_argument
@options.timing_options
@options.results_option()
def check_command(study: str, results: Path | None, **timing: Any) -> None:
    """Check that STUDY can run: hosts, keys, sudo, interfaces, MTUs, space, limits, ceilings.

    Nothing stays changed. All is checked before the first line is printed. Exit code 1 if a check
    failed, 2 if the study cannot be used.
    """
    loaded = options.load_measurable(study, **timing)
    from netlab.experiment.preflight import preflight

    with options.asking_at_terminal():
        # a host may be on several paths
        findings = list(dict.fromkeys(preflight(loaded, results)))
    for finding in findings:
        click.echo(finding.line())
    failed = sum(finding.status == "fail" for finding in findings)
    if failed:
        raise NetlabError(f"{failed} of {len(findings)} checks failed", code="E-CLI-005")


# ``netlab run``: measure a study.


@main.command("run")
@options.study_argument
@options.timing_options
@options.outer_option
@options.results_option()
def run_command(study: str, results: Path | None, outer: dict[str, str], **timing: Any) -> None:
    """Measure every run of STUDY that has no valid record yet.

    Print the directory of the results. STUDY is the name of a study or the path of its file. Exit
    code 1: all runs of a cell failed; 4: measured, and a cell has only disturbed runs, or none yet.
    """
    loaded = options.load_measurable(study, **timing)
    campaign = measure(loaded, results, options.asked_outer(loaded, outer))
    code = exit_code(campaign)
    click.echo(campaign.directory)
    sys.exit(code)


def exit_code(campaign: Campaign) -> int:
    """0 if every cell has a valid run; else say on standard error which has none, and why.

    1 if all runs of a cell failed, 4 if they were disturbed or are still to come.
    """
    without = campaign.empty_cells
    if not without:
        return 0
    have = "s have" if len(without) > 1 else " has"
    options.note(f"{len(without)} cell{have} no valid run, the first is {without[0]}")
    from netlab.analysis.cells import empty
    from netlab.analysis.measured import load_measured

    cells = load_measured(campaign.directory).cells
    failed = empty(cells) & (cells["n_flagged"] > 0)
    return 1 if failed.any() else options.BELOW_GATE


def summary(campaign: Campaign) -> str:
    """One line about a campaign: numbers of runs, and the first that failed."""
    return (
        f"{campaign.measured} runs measured in {campaign.visits} visits, "
        f"{campaign.kept} kept from before; {campaign.failed} failed, {campaign.flagged} flagged"
        + (f"; the first failed run is {campaign.first_failed}" if campaign.first_failed else "")
    )


def measure(
    loaded: Study, results: Path | None, outer: Mapping[str, str], shown: Progress | None = None
) -> Campaign:
    """Measure a study, and note what was measured, in a display of its own if there is none."""
    from netlab.notebooks.kernel import Kernel

    # what a visit needs is imported while this process makes the lab
    needed = "netlab.face.block, netlab.face.study, netlab.notebooks.parameters"
    with options.asking_at_terminal(), Kernel(f"import {needed}") as kernel:
        from netlab.experiment.campaign import run_study
        from netlab.experiment.progress import Progress

        with nullcontext(shown) if shown else Progress(report=False) as progress:
            campaign = run_study(
                loaded, directory=results, outer=outer, watcher=progress, kernel=kernel
            )
            for text in _notes(loaded, campaign):
                progress.note(text)
    return campaign


def _notes(loaded: Study, campaign: Campaign) -> Iterator[str]:
    yield summary(campaign)
    if campaign.disturbed:
        tried = ((loaded.noise.retries, "retries"), (campaign.waited_s, "s of waiting"))
        after = " and ".join(f"{amount:.0f} {unit}" for amount, unit in tried if amount)
        yield (
            f"{campaign.disturbed} runs are flagged interference"
            f"{after and f', also after {after}'}: these hosts are noisy; quiet them, or set other "
            "limits under `noise`"
        )
    if campaign.looks and loaded.precision is not None:
        last, percent = campaign.looks[-1], loaded.precision.half_width_percent
        ended = "; the budget ended first" if campaign.out_of_time else ""
        yield (
            f"{last.reached} of {last.cells} cells are within {percent:g} % after {last.round} "
            f"rounds at most{ended}"
        )


# ``netlab report``: publish what a study has measured.


@main.command("report")
@options.study_argument
@options.quick_option
@options.results_option()
@options.site_option
@options.author_option
@options.url_option
@options.text_option("--against", help="Add a page that compares with these other results.")
@click.option("--single-file", is_flag=True, help="Also write the study's pages as one HTML file.")
@click.option("--fresh", is_flag=True, help="Make every page anew, also those that did not change.")
def report_command(
    study: str,
    quick: bool,
    results: Path | None,
    single_file: bool,
    author: str,
    url: str,
    **asked: Any,
) -> None:
    """Write the report of what STUDY has measured, and print its path.

    STUDY is the name of a study or of results, the path of its file, or the directory of its
    results. The report is of the study as it was measured last, whatever its file says by now. One
    HTML file, to be mailed, has no notebooks, no pages of single runs and no files; the path
    printed is then its own. Exit code 4: it is written, with a banner: below the quality gate,
    cells are empty, disturbed or less precise than asked, or more than 5 % of the runs are
    flagged.
    """
    loaded, results = options.load_measured_study(study, quick=quick, results=results)
    notebooks = options.notebooks_of(loaded, study)
    from netlab.experiment.progress import Progress
    from netlab.report.page import Credit

    credit = Credit(author, url)
    with Progress() as progress:
        words = {**asked, "credit": credit}
        published = publish_site(loaded, notebooks, results, progress=progress, **words)
    code, index = gate_code(published.concerns), published.index
    if single_file:
        from netlab.report.render import single_file as as_one

        index = as_one(index.parent)
    click.echo(index)
    sys.exit(code)


def gate_code(found: Iterable[Concern]) -> int:
    """0, or 4 below the quality gate; then say why on standard error.

    A short form alone gives 0, since it was asked for.
    """
    from netlab.analysis.trust import SHORT
    from netlab.report.gate import in_words

    concerns = [concern for concern in found if concern.kind != SHORT]
    for concern in concerns:
        options.note(f"below the quality gate: {in_words(concern)}")
    return options.BELOW_GATE if concerns else 0


def publish_site(
    loaded: Study,
    notebooks: Sequence[Path] | None,
    results: Path | None,
    *,
    site: Path | None,
    progress: Progress,
    fresh: bool = False,
    **words: Any,
) -> PublishedReport:
    """Write the site of a measured study, and say which notebooks of its own it executes."""
    from netlab.report.cache import NOTHING_KEPT, user_cache
    from netlab.report.page import study_of_site
    from netlab.report.site import Executions, probably_executed
    from netlab.study.published import is_own

    if own := [str(file) for file in notebooks or () if is_own(file)]:
        progress.note(f"runs the study's own notebooks: {', '.join(own)}")

    directory = (results or paths.results_dir(loaded.name)).absolute()
    target = site or paths.site_dir()
    cache = NOTHING_KEPT if fresh else user_cache()
    if (before := study_of_site(target)) not in ("", loaded.name):
        text = f"replaces the report of {before} in {target}; --site names another place"
        progress.note(printable(text))
    at_once = not probably_executed(directory, cache)
    with Executions(at_once=at_once, cache=cache) as running:
        # seconds, in which the kernel imports as well
        from netlab.report.export import NO_PDF
        from netlab.report.site import publish

        published = publish(
            *(directory, target, progress.step),
            **{"notebooks": notebooks, "running": running, "cache": cache, **words},
        )
    if NO_PDF:
        progress.note(f"no PDF: {NO_PDF}")
    if published.left_out:
        progress.note(
            f"left out {', '.join(map(repr, published.left_out))}: notebooks of a study's own run "
            f"with its own file, `netlab report FILE --results {directory}`"
        )
    return published


# ``netlab study``: a whole study, from the first run to the report.


@main.command("study")
@options.study_argument
@options.timing_options
@options.outer_option
@options.results_option()
@options.site_option
def study_command(
    study: str, results: Path | None, site: Path | None, outer: dict[str, str], **timing: Any
) -> None:
    """Measure STUDY and write its report: `run`, then `report`.

    The last line is the path of the report. STUDY is the name of a study or the path of its file.
    Exit code 4: the report is written, with a banner: below the quality gate, see `netlab report`,
    or all runs of a cell failed.
    """
    loaded = options.load_measurable(study, **timing)
    notebooks, outer = options.notebooks_of(loaded, study), options.asked_outer(loaded, outer)
    from netlab.experiment.progress import Progress

    with Progress() as progress:
        campaign = measure(loaded, results, outer, progress)
        published = publish_site(
            loaded, notebooks, campaign.directory, site=site, progress=progress
        )
    below, without = gate_code(published.concerns), exit_code(campaign)
    click.echo(published.index)
    sys.exit(options.BELOW_GATE if below or without else 0)


# ``netlab lab``: the lab of network namespaces that comes with netlab.


@main.group("lab")
def lab_group() -> None:
    """Make, show and remove labs of network namespaces.

    Without root a lab is made in a user namespace, and is the user's own.
    """


@lab_group.command("up")
@click.argument("study", default="openlab-2003")
def up_command(study: str) -> None:
    """Make the hosts and links of STUDY; they stay until `netlab lab down`."""
    loaded = options.load_study(study)
    from netlab.lab.lab import Lab, find

    click.echo(_shown(find(loaded) or Lab.up(loaded)))


@lab_group.command("down")
@click.argument("lab_id", required=False)
def down_command(lab_id: str | None) -> None:
    """Remove the lab LAB_ID, or all that no running netlab owns."""
    from netlab.lab.lab import down

    removed = down(lab_id)
    click.echo(f"removed: {', '.join(removed)}" if removed else "no lab is up")


@lab_group.command("status")
def status_command() -> None:
    """List what the labs of this machine consist of."""
    from netlab.lab.lab import labs

    click.echo("\n".join(map(_shown, labs())) or "no lab is up")


@lab_group.command("shell", context_settings={"ignore_unknown_options": True})
@click.argument("host")
@click.argument("argv", nargs=-1)
def shell_command(host: str, argv: tuple[str, ...]) -> None:
    """Run a command, or a shell, on HOST of the lab that is up."""
    from netlab.lab.lab import labs
    from netlab.lab.reaper import SEARCH_PATH

    known: list[str] = []
    for there in labs():
        if host in there.hosts:
            program = argv or (os.environ.get("SHELL", "/bin/sh"),)
            words = there.inside(host, program)
            os.execvpe(words[0], words, {**os.environ, "PATH": SEARCH_PATH})
        known += there.hosts
    hosts = f"the labs have {', '.join(known)}" if known else "no lab is up; `netlab lab up`"
    raise NetlabError(f"no lab that is up has a host called {host!r}: {hosts}", code="E-CLI-008")


def _shown(lab: Lab) -> str:
    from netlab.lab import sshd

    if lab.foreign:
        return f"lab {lab.id}: made by root"
    status = lab.status()
    whole = "complete" if status["complete"] else "NOT complete"
    owner = f", owned by process {status['owner_pid']}" if status["owner_pid"] else ""
    where = ", in a user namespace" if lab.user_namespace else ""
    lines = [
        f"lab {status['id']}: study {status['study']}, {whole}{where}{owner}",
        f"  processes: {sshd.IN_WORDS[status['task_group']]}",
    ]
    for name, host in status["hosts"].items():
        up = "up" if host["up"] else "gone"
        lines.append(f"  host {name}: {up}, namespace {host['namespace']}")
    for name, path in status["paths"].items():
        ends = " -- ".join(
            f"{end['host']} {end['interface']} {' '.join(end['addresses'])}" for end in path["ends"]
        )
        rate = f", {path['rate_bps'] / 1e6:.0f} Mb/s of frames" if path["rate_bps"] else ""
        lines.append(f"  path {name}: {ends}{rate}")
    return "\n".join(lines)


# ``netlab hosts``: what netlab leaves on the hosts of a study.


@main.group("hosts")
def hosts_group() -> None:
    """Clean hosts."""


@hosts_group.command("clean")
@options.study_argument
@click.option(
    "--journals", is_flag=True, help="Also remove journals of settings that were not reverted."
)
def clean_command(study: str, journals: bool) -> None:
    """Remove the agent, its cache and its journals from every SSH host of STUDY.

    `netlab check` and `netlab run` leave the agent in ~/.cache/netlab of the user on each host, so
    that the next run need not copy it. Prints what was found. Hosts of the lab have nothing of
    their own. Every host is tried; exit code 1 if one failed.
    """
    loaded = options.load_study(study)
    from netlab.experiment.endpoint import host_of
    from netlab.hosts.agent import clean_host

    names = [name for name, host in loaded.hosts.items() if host.kind != "lab"]
    failed = 0
    for name in names:
        try:
            with host_of(loaded, name) as host:
                click.echo(f"{name}: {clean_host(host, journals=journals)}")
        except HostError as error:
            failed += 1
            options.note(error.with_code())
    if not names:
        click.echo("all hosts are of the lab: `netlab lab down` removes it")
    if failed:
        raise NetlabError(f"{failed} of {len(names)} hosts failed", code="E-CLI-018")


# ``netlab tune``: changes of a study's tunings, and recovery after a dead netlab.


@main.group("tune")
def tune_group() -> None:
    """Show the changes of tunings; recover hosts."""


@tune_group.command("plan")
@options.study_argument
@click.option("--tuning", help="Only this tuning of the study.")
@click.option("--path", "path_name", help="Only this path of the study.")
@click.option("--commands", is_flag=True, help="Print shell commands instead of a diff.")
def plan_command(study: str, tuning: str | None, path_name: str | None, commands: bool) -> None:
    """Show the changes of each tuning of STUDY on each host as a diff, without making them.

    Everything is read and planned before the first line is printed.
    """
    loaded = options.load_measurable(study)
    from netlab.face.parts import Changes, planned_changes

    planned = Changes(tuple(planned_changes(loaded, tuning, path_name)))
    click.echo(planned.commands() if commands else planned)


@tune_group.command("recover")
@options.study_argument
def recover_command(study: str) -> None:
    """Revert what a dead netlab left changed on the hosts of STUDY."""
    # a netlab that was killed together with its guard
    from netlab.experiment.endpoint import open_endpoints, study_lab

    loaded = options.load_study(study)
    with study_lab(loaded) as lab:
        for path in loaded.paths:
            with open_endpoints(loaded, loaded.first_link(path), lab=lab) as endpoints:
                for host, endpoint in endpoints.items():
                    for answer in (answers := endpoint.recover()):
                        words = [answer.get(key) for key in ("knob", "name", "status", "reason")]
                        click.echo(f"{host}: {' '.join(str(word) for word in words if word)}")
                    if not answers:
                        click.echo(f"{host}: nothing to recover")
