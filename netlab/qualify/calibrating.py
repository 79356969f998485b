"""``netlab calibrate``: measure known rates, the emulator, and runs whose limit is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from netlab.errors import NetlabError, check
from netlab.experiment.progress import Progress
from netlab.experiment.watcher import RunDone
from netlab.files import paths
from netlab.files.dated import new_directory
from netlab.lab import emulator
from netlab.qualify.calibrated import document as document_calibration
from netlab.qualify.calibrated import emulator as emulator_calibration
from netlab.qualify.calibrated import emulator_cells, rate_cells, rates
from netlab.qualify.commands import EMULATOR, RATES, given_levels, now
from netlab.qualify.words import measuring, truths

OPTIONS = {
    RATES: {
        **{"rates_Mbps": "--rate", "mtus_B": "--mtu"},
        **{"seconds": "--seconds", "repeats": "--repeats"},
    },
    EMULATOR: {"rtts_ms": "--rtt"},
}
"""Options of each part, by the field of its plan."""


def calibrate(
    quick: bool, only: str | None, of_words: bool, results: Path | None, **levels: Any
) -> None:
    given, parts_asked = given_levels(levels), [only] if only else list(OPTIONS)
    if of_words:
        names = {**OPTIONS[RATES], **OPTIONS[EMULATOR], "only": "--only"}
        asked = given | ({"only": only} if only else {})
        unused = [names[key] for key in asked if key != "repeats"]
        text = f"--words does not use {', '.join(unused)}; leave out one or the other"
        check(not unused, "", None, text, "E-CLI-060")
        _calibrate_words(given.get("repeats", 3 if quick else 10), results)
        return
    others = (OPTIONS[part] for part in OPTIONS.keys() - parts_asked)
    unused = [option for keys in others for key, option in keys.items() if key in given]
    text = f"--only {only} does not use {', '.join(unused)}; leave out one or the other"
    check(not unused, "", None, text, "E-CLI-003")
    if EMULATOR in parts_asked:
        emulator.check()  # fail before minutes of rates, not after them
    measures: dict[str, tuple[Callable, Any]] = {
        RATES: (rates.calibrate, rate_cells.QUICK if quick else rate_cells.RatePlan()),
        EMULATOR: (
            emulator_calibration.calibrate_emulator,
            emulator_cells.QUICK_EMULATOR if quick else emulator_cells.EmulatorPlan(),
        ),
    }
    plans = {
        name: replace(measures[name][1], **{k: given[k] for k in OPTIONS[name] if k in given})
        for name in parts_asked
    }
    started_at, parts, directory = now(), {}, None
    for name, plan in plans.items():
        with Progress(report=False) as shown:
            shown.tally.place = name
            shown.start(len(plan.cells) * plan.tries, 0, 0, plan.seconds)

            def progress(sample, shown=shown):
                figures = (sample.get("goodput_MBps"), None, sample["flags"], sample["message"])
                shown.run_done(RunDone("", *figures))

            parts[name] = measures[name][0](plan, progress=progress)
        # Save each part before the next one, which may fail.
        place = results or paths.results_dir("calibration")
        directory = directory or new_directory(place, started_at)
        document = document_calibration.CalibrationDocument(started_at, **parts)
        path = document.save(directory)
        click.echo(parts[name].to_text())
    click.echo(path)
    if document.complaint:
        raise NetlabError(document.complaint, code="E-CLI-004")


def _calibrate_words(repeats: int, results: Path | None) -> None:
    emulator.check()
    plan, started_at = truths.WordsPlan(repeats=repeats), now()
    with Progress(report=False) as shown:
        shown.tally.place = "words"
        shown.start(len(plan.truths) * repeats, 0, 0, measuring.RUN_S)

        def progress(sample: dict) -> None:
            message = f"{sample['truth']}: {sample['word']}"
            shown.run_done(RunDone("", sample["goodput_MBps"], None, sample["flags"], message))

        measured = measuring.measure_words(plan, progress=progress)
    directory = new_directory(results or paths.results_dir("calibration"), started_at)
    path = measured.save(directory, started_at)
    click.echo(measured.to_text())
    click.echo(path)
    if measured.complaint:
        raise NetlabError(measured.complaint, code="E-CLI-061")
