"""``netlab bench``: measure, conclude and draw."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from netlab.charts.chart import show
from netlab.cli.measuring import measure
from netlab.files import paths
from netlab.files.dated import new_directory
from netlab.qualify import bench, bench_conclusions, bench_ratios
from netlab.qualify.charts import ratio_panels
from netlab.qualify.commands import given_levels, now
from netlab.results.store import Store


def run_bench(quick: bool, peers: tuple[str, ...], results: Path | None, **levels: Any) -> None:
    matrix = replace(bench.QUICK if quick else bench.Matrix(), **given_levels(levels))
    tools = bench.find_tools(peers)
    place = results or paths.results_dir("bench")
    directory = bench.directory_of(place) or new_directory(place, now())
    chosen: bench.Chosen = {}
    if (heats := bench.heats_study(matrix, tools)) is not None:
        measure(heats, directory / "heats", {})
        chosen = bench.choose(bench_ratios.samples_of(Store(directory / "heats").runs()))
    study = bench.rounds_study(matrix, tools, chosen)
    measure(study, directory, {})
    conclusions = bench_conclusions.Conclusions.of(study, directory)
    if conclusions.ratios["ratio"].notna().any():
        show(ratio_panels(conclusions.ratios)).save(directory / "bench.svg")
    conclusions.save(directory)
    click.echo(conclusions.to_text())
    click.echo(directory)
