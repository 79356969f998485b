"""Every chart function takes ``ax`` and returns it, or makes its own figures and says so."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
import synthetic
from calibrated_samples import CELLS, ROUND_TRIPS
from charts.given import Given, given
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import netlab
import netlab.charts
from netlab import study as studies
from netlab.analysis import answers, tool_agreement
from netlab.analysis.batches import timelines
from netlab.analysis.compare import compare
from netlab.analysis.cost_of_cpu import cpu_cost
from netlab.analysis.percentiles import PERCENTILES
from netlab.analysis.share_over_time import OverTime
from netlab.charts import cell_rows
from netlab.charts.chart import Gallery, Panels, show
from netlab.face.study import Study
from netlab.files.paths import data_dir
from netlab.report import tables
from netlab.study.flows import PlannedFlow

PIECES = {"line_labels.figure_of", "looks.new_axes"}
"""They give the parts that charts are made of."""

GROUP = "Linux64 -> Linux64"


def public_functions() -> dict[str, Callable]:
    """``module.function`` -> function, of all that the modules of charts define."""
    found = {}
    modules = {
        f"netlab.charts.{one.name}": one.name
        for one in pkgutil.iter_modules(netlab.charts.__path__)
    }
    package = Path(netlab.__file__).parent
    of_wings = [(file, file.parent.name) for file in package.rglob("charts.py")]
    of_wings += [(file, file.parents[1].name) for file in package.rglob("figures/*.py")]
    for file, wing in of_wings:
        modules[".".join(("netlab", *file.relative_to(package).with_suffix("").parts))] = wing
    for module, short in modules.items():
        loaded = importlib.import_module(module)
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            if function.__module__ == loaded.__name__ and not name.startswith("_"):
                found[f"{short}.{name}"] = function
    return found


FUNCTIONS = {name: one for name, one in public_functions().items() if name not in PIECES}
RETURNS = {name: typing.get_type_hints(one).get("return") for name, one in FUNCTIONS.items()}
AXES_LEVEL = {name for name, returned in RETURNS.items() if returned is Axes}
OF_PANELS = {name for name, returned in RETURNS.items() if returned is Panels}
FIGURE_LEVEL = OF_PANELS | {name for name, returned in RETURNS.items() if returned is Gallery}


def test_charts_take_ax_by_name_or_no_axes_and_return_axes_panels_or_galleries():
    assert {"group_panels.cost_over_streams", "design.order"} <= AXES_LEVEL
    assert {
        "study_charts.panels",
        "group_panels.repeat_panels",
        "comparisons.comparison_charts",
    } <= FIGURE_LEVEL
    assert len(AXES_LEVEL) > 20 and len(FIGURE_LEVEL) > 5
    for name in AXES_LEVEL:
        ax = inspect.signature(FUNCTIONS[name]).parameters["ax"]
        assert (ax.kind, ax.default) == (inspect.Parameter.KEYWORD_ONLY, None), name
        assert typing.get_type_hints(FUNCTIONS[name])["ax"] == Axes | None, name
    for name in FIGURE_LEVEL:
        assert not {Axes, Axes | None} & {*typing.get_type_hints(FUNCTIONS[name]).values()}, name
    assert [name for name, returned in RETURNS.items() if returned in (Figure, None)] == []
    assert OF_PANELS and all(name.endswith("panels") for name in OF_PANELS)


def of_wings(directory: Path) -> dict[str, Given]:
    """Examples of charts of wings: a wing's folder of tests has its own."""
    found = {}
    for file in sorted(Path(__file__).parents[2].glob("*/chart_examples.py")):
        module = importlib.import_module(f"{file.parent.name}.chart_examples")
        found |= module.examples(directory / file.parent.name)
    return found


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> dict[str, Given]:
    """Arguments of each function that returns axes or panels."""
    m = synthetic.measured()
    plan = Study("openlab-2003", quick=True)
    of_agreement = studies.load(data_dir() / "studies" / "agreement.yml")
    agreed = tool_agreement.compare_generators(synthetic.runs_of(of_agreement))
    agreed = agreed[agreed["path"] == agreed["path"].iloc[0]]
    run_id = m.runs["run_id"].iloc[0]
    line = timelines(synthetic.intervals_of(m.runs.head(1), m.study))
    part = m.runs[m.runs["group"] == GROUP]
    labels = cell_rows.row_labels(part, m.study)
    part_cells = m.cells[m.cells["group"] == GROUP]
    of_cells = cell_rows.row_labels(part_cells, m.study)
    cost = cpu_cost(m.runs, m.study)
    part_cost = cost[cost["group"] == GROUP]
    sides = compare(part[part["tuning"] == "none"], part[part["tuning"] == "full"], by="tuning")
    trend = {"campaign": ["20260101T000000Z", "20260102T000000Z"], "level": [1.0, 0.9]}
    trend = pd.DataFrame(trend | {"ratio": [float("nan"), 0.9], "step": [False, True]})
    flows = part_cells.assign(way="forward", of_flows=4)
    ends = {"share_percent": 60.0, "share_low_percent": 50.0, "share_high_percent": 70.0}
    rates = pd.DataFrame({0: [1.0, 2.0], 1: [3.0, 2.0], "jain": [0.8, 1.0]}, index=[1.0, 2.0])
    over_time = [OverTime(("a cell",), run_id, ("bbr", "cubic"), 0.9, rates)]
    late = [replace(over_time[0], flows=(PlannedFlow(), PlannedFlow(start_s=1.5)))]
    knobs = {"verdict": "faster", "with_knob": "", "ratio": 1.2, "low": 1.1, "high": 1.3}
    return of_wings(tmp_path_factory.mktemp("wings")) | {
        "shares.stacks": given(flows.assign(control="bbr", flows=2, **ends), of_cells),
        "shares.jain": given(flows.assign(jain_index=0.9, jain_low=0.8, jain_high=1.0), of_cells),
        "shares.over_time_panels": given(over_time, {("a cell",): "8 streams"}, GROUP),
        "shares.newcomer_panels": given(late, {("a cell",): "2 streams"}, GROUP),
        "comparisons.generator_forest": given(agreed, agreed["generator"].unique().tolist(), 2.0),
        "calibration.rates": given(pd.DataFrame(CELLS)),
        "calibration.round_trips": given(pd.DataFrame(ROUND_TRIPS)),
        "cells.over_streams": given(m.cells, GROUP),
        "comparisons.cell_forest": given(sides),
        "comparisons.family_forest": given({"one": sides, "other": sides}),
        "forest.forest": given(
            pd.DataFrame({"row": ["one"], "series": "a", "centre": 1.0, "low": 0.5, "high": 2.0}),
            {"a": {"color": "black", "marker": "o"}},
            "differences",
            title="A title",
            quantity="Goodput, %",
        ),
        "design.order": given(plan.plan(), plan.design),
        "design.cells": given(plan.plan(), plan.design, "a group"),
        "design.knob_values": given({"None": {"a": 1.0}, "Full": {"a": 9.0}}, "Full"),
        "run_samples.samples": given(line, run_id),
        "over_factor.over_factor": given(
            m.cells, "streams", "mtu_B", at={"group": GROUP, "tuning": "full"}
        ),
        "study_charts.drift": given(m.runs),
        "study_charts.overhead": given(m.runs),
        "cell_rows.repeats": given(part, labels),
        "cell_rows.cost": given(part_cost, labels),
        "round_trips.latency": given(part_cells.assign(added_latency_us=900.0), of_cells),
        "round_trips.latency_over_tcp": given(
            part_cells.assign(tcp_rtt_idle_p50_us=100.0, tcp_rtt_loaded_p50_us=900.0), of_cells
        ),
        "round_trips.rtt_percentiles": given(
            part_cells.assign(**dict.fromkeys(PERCENTILES, 900.0)), of_cells
        ),
        "round_trips.loss": given(part_cells.assign(lost_percent=2.0), of_cells),
        "comparisons.knob_forest": given(pd.DataFrame([knobs | {"knob": "a"}]), 5.0, title="Knobs"),
        "group_panels.ceiling": given(m.cells, GROUP),
        "comparisons.step_forest": given(answers.step_effects(m), {}, tables.FACTOR_NAME),
        "group_panels.cost_over_streams": given(cost, GROUP, study=m.study),
        "study_charts.trend": given(trend),
        "run_samples.under_load_panels": given(
            line.assign(rtt_p50_us=900.0, rtt_p99_us=2000.0), run_id
        ),
        "study_charts.whole_panels": given(m.cells, study=m.study),
        "study_charts.panels": given(m.cells, GROUP, study=m.study),
        "group_panels.repeat_panels": given(part, GROUP, study=m.study),
    }


WITH_A_SCALE = {"group_panels.ceiling", "fleet.host_matrix"}
"""A colour scale takes axes of its own from those given."""


@pytest.fixture
def drawn(examples) -> Callable[..., Axes | Panels]:
    """Calls a function with its example; no setting is changed in the end."""
    before = dict(mpl.rcParams)

    def call(name: str, **more: object) -> Axes | Panels:
        arguments, keywords = examples[name]
        return FUNCTIONS[name](*arguments, **keywords, **more)

    yield call
    assert dict(mpl.rcParams) == before


def test_there_is_an_example_of_every_function_that_returns_axes_or_panels(examples):
    assert set(examples) == AXES_LEVEL | OF_PANELS


@pytest.mark.parametrize("name", sorted(AXES_LEVEL))
def test_a_chart_is_drawn_on_the_axes_given_or_in_a_figure_of_its_own(name, drawn):
    fig, (left, right) = plt.subplots(1, 2)
    assert drawn(name, ax=right) is right
    assert right.has_data() and not left.has_data()
    assert len(fig.axes) == 2 + (name in WITH_A_SCALE)
    assert plt.get_fignums() == [fig.number] and not fig.legends
    plt.close(fig)
    ax = drawn(name)
    assert isinstance(ax, Axes) and plt.get_fignums() == [ax.figure.number]


@pytest.mark.parametrize("name", sorted(OF_PANELS))
def test_panels_are_the_axes_of_one_figure_with_alt_text(name, drawn):
    panels = drawn(name)
    assert isinstance(panels, Panels) and panels.axes.ndim == 2
    assert list(panels.axes.flat) == panels.figure.axes
    assert show(panels).alt and not plt.fignum_exists(panels.figure.number)
