"""Every chart function takes ``ax`` and returns it, or makes its own figures and says so."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest
import synthetic
from autotune.simulated import tuned
from calibrated_samples import CELLS, ROUND_TRIPS
from fleet_effects import fleet_runs
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from screened import screened

import netlab.charts
from netlab import study as studies
from netlab.analysis import answers, then_and_now
from netlab.analysis.cells import timelines
from netlab.analysis.compare import compare
from netlab.analysis.conditions import cpu_cost
from netlab.analysis.fleet import link_cells, links
from netlab.analysis.measured import Measured
from netlab.autotune.report import table
from netlab.charts import cells
from netlab.charts.chart import Gallery, Panels, show
from netlab.face.study import Study
from netlab.files.paths import data_dir
from netlab.published import claims
from netlab.report import tables

PIECES = {"labels.figure_of", "theme.new_axes"}
"""They give the parts that charts are made of."""

GROUP = "Linux64 -> Linux64"


def public_functions() -> dict[str, Callable]:
    """``module.function`` -> function, of all that the modules of charts define."""
    found = {}
    for module in pkgutil.iter_modules(netlab.charts.__path__):
        loaded = importlib.import_module(f"netlab.charts.{module.name}")
        for name, function in inspect.getmembers(loaded, inspect.isfunction):
            if function.__module__ == loaded.__name__ and not name.startswith("_"):
                found[f"{module.name}.{name}"] = function
    return found


FUNCTIONS = {name: one for name, one in public_functions().items() if name not in PIECES}
RETURNS = {name: typing.get_type_hints(one).get("return") for name, one in FUNCTIONS.items()}
AXES_LEVEL = {name for name, returned in RETURNS.items() if returned is Axes}
OF_PANELS = {name for name, returned in RETURNS.items() if returned is Panels}
FIGURE_LEVEL = OF_PANELS | {name for name, returned in RETURNS.items() if returned is Gallery}


def test_the_walk_finds_the_charts():
    assert {"views.cost", "measured.order", "fleet.host_matrix"} <= AXES_LEVEL
    assert {"measured.panels", "views.repeat_panels", "compare.panels"} <= FIGURE_LEVEL
    assert len(AXES_LEVEL) > 30 and len(FIGURE_LEVEL) > 10


@pytest.mark.parametrize("name", sorted(AXES_LEVEL))
def test_an_axes_level_function_takes_ax_by_name_and_makes_axes_without_it(name):
    ax = inspect.signature(FUNCTIONS[name]).parameters["ax"]
    assert (ax.kind, ax.default) == (inspect.Parameter.KEYWORD_ONLY, None)
    assert typing.get_type_hints(FUNCTIONS[name])["ax"] == Axes | None


@pytest.mark.parametrize("name", sorted(FIGURE_LEVEL))
def test_a_figure_level_function_takes_no_axes(name):
    assert not {Axes, Axes | None} & {*typing.get_type_hints(FUNCTIONS[name]).values()}


def test_no_function_returns_a_bare_figure():
    assert [name for name, returned in RETURNS.items() if returned in (Figure, None)] == []


def test_a_function_that_returns_panels_says_so_in_its_name():
    assert OF_PANELS and all(name.endswith("panels") for name in OF_PANELS)


# Each of them is called.


@pytest.fixture(scope="module")
def m() -> Measured:
    return synthetic.measured()


@pytest.fixture(scope="module")
def data(m, lp) -> SimpleNamespace:
    """What the functions draw."""
    plan = Study("openlab-2003", quick=True)
    of_agreement = studies.load(data_dir() / "studies" / "agreement.yml")
    agreed = answers.compare_generators(synthetic.runs_of(of_agreement))
    run_id = m.runs["run_id"].iloc[0]
    samples = synthetic.intervals_of(m.runs.head(1), m.study)
    bench = {"mode": "same", "offloads": "on", "mtu_B": 1500, "streams": 1, "other": "plain"}
    bench |= {"against": "plain", "ratio": 1.2, "low": 1.1, "high": 1.3, "verdict": "faster"}
    then, both = then_and_now.compare(m), then_and_now.comparable(m)
    part = m.runs[m.runs["group"] == GROUP]
    cost = cpu_cost(m.runs, m.study)
    return SimpleNamespace(
        m=m,
        lp=lp,
        plan=plan.plan(),
        study=plan.design,
        agreed=agreed[agreed["path"] == agreed["path"].iloc[0]],
        run_id=run_id,
        line=timelines(samples),
        bench=pd.DataFrame([bench]),
        then=then[then["factor"] == "tuning"].head(2),
        shares=both[(both["group"] == GROUP) & (both["tuning"] == "full")],
        part=part,
        labels=cells.row_labels(part, m.study),
        cost=cost,
        part_cost=cost[cost["group"] == GROUP],
        links=links(link_cells(fleet_runs(4, 3), 0.95)),
        search=table(tuned()),
        sides=compare(part[part["tuning"] == "none"], part[part["tuning"] == "full"], by="tuning"),
        trend=pd.DataFrame(
            {
                "campaign": ["20260101T000000Z", "20260102T000000Z"],
                "level": [1.0, 0.9],
                "ratio": [float("nan"), 0.9],
                "step": [False, True],
            }
        ),
    )


def given(*arguments: object, **keywords: object) -> tuple[tuple, dict]:
    return arguments, keywords


EXAMPLES: dict[str, Callable[[SimpleNamespace], tuple[tuple, dict]]] = {
    "compare.generator_forest": lambda d: given(
        d.agreed, d.agreed["generator"].unique().tolist(), 2.0
    ),
    "experiments.rates": lambda d: given(pd.DataFrame(CELLS)),
    "experiments.round_trips": lambda d: given(pd.DataFrame(ROUND_TRIPS)),
    "cells.over_streams": lambda d: given(d.m.cells, GROUP),
    "published.verdicts": lambda d: given(claims.check_all()),
    "compare.cell_forest": lambda d: given(d.sides),
    "forest.forest": lambda d: given(
        pd.DataFrame({"row": ["one"], "series": "a", "centre": 1.0, "low": 0.5, "high": 2.0}),
        {"a": {"color": "black", "marker": "o"}},
        "differences",
        title="A title",
        quantity="Goodput, %",
    ),
    "measured.order": lambda d: given(d.plan, d.study),
    "measured.cells": lambda d: given(d.plan, d.study, "a group"),
    "measured.knob_values": lambda d: given({"None": {"a": 1.0}, "Full": {"a": 9.0}}, "Full"),
    "measured.samples": lambda d: given(d.line, d.run_id),
    "cells.over_factor": lambda d: given(
        d.m.cells, "streams", "mtu_B", at={"group": GROUP, "tuning": "full"}
    ),
    "fleet.host_matrix": lambda d: given(d.links),
    "fleet.host_spread": lambda d: given(d.links),
    "longpath.goodput_over_time": lambda d: given(d.lp, d.lp.of("comparison", 9000), "Frames"),
    "longpath.goodput_by_run": lambda d: given(d.lp, d.lp.part("configurations"), "Plots"),
    "measured.drift": lambda d: given(d.m.runs),
    "measured.overhead": lambda d: given(d.m.runs),
    "published.throughput_by_streams": lambda d: given(2, "full"),
    "published.best_percent_of_bus": lambda d: given(),
    "published.preliminary_set": lambda d: given("kernel"),
    "published.burst_efficiency": lambda d: given(),
    "published.before_and_after": lambda d: given(),
    "published.windows_needed_and_given": lambda d: given(),
    "published.recovery": lambda d: given(9000),
    "cells.repeats": lambda d: given(d.part, d.labels),
    "cells.cost": lambda d: given(d.part_cost, d.labels),
    "compare.knob_forest": lambda d: given(screened().effects, 5.0),
    "fleet.slow_links": lambda d: given(d.links),
    "then_and_now.ratio_forest": lambda d: given(d.then, "a step", ["one", "two"]),
    "views.ceiling": lambda d: given(d.m.cells, GROUP),
    "views.effects": lambda d: given(tables.steps(d.m), {}, tables.FACTORS),
    "views.cost": lambda d: given(d.cost, GROUP, study=d.m.study),
    "views.trend": lambda d: given(d.trend),
    "experiments.search_panels": lambda d: given(d.search),
    "experiments.ratio_panels": lambda d: given(d.bench),
    "measured.whole_panels": lambda d: given(d.m.cells, study=d.m.study),
    "measured.panels": lambda d: given(d.m.cells, GROUP, study=d.m.study),
    "views.repeat_panels": lambda d: given(d.part, GROUP, study=d.m.study),
}
"""Arguments of each function that returns axes or panels."""

WITH_A_SCALE = {"views.ceiling", "fleet.host_matrix"}
"""A colour scale takes axes of its own from those given."""


def drawn(name: str, data: SimpleNamespace, **more: object) -> Axes | Panels:
    arguments, keywords = EXAMPLES[name](data)
    return FUNCTIONS[name](*arguments, **keywords, **more)


def test_there_is_an_example_of_every_function_that_returns_axes_or_panels():
    assert set(EXAMPLES) == AXES_LEVEL | OF_PANELS


@pytest.mark.parametrize("name", sorted(AXES_LEVEL))
def test_a_chart_is_drawn_on_the_axes_given_and_changes_no_setting(name, data):
    before = dict(mpl.rcParams)
    fig, (left, right) = plt.subplots(1, 2)
    assert drawn(name, data, ax=right) is right
    assert right.has_data() and not left.has_data()
    assert len(fig.axes) == 2 + (name in WITH_A_SCALE)
    assert plt.get_fignums() == [fig.number] and not fig.legends
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", sorted(AXES_LEVEL))
def test_without_axes_a_chart_has_a_figure_of_its_own(name, data):
    before = dict(mpl.rcParams)
    ax = drawn(name, data)
    assert isinstance(ax, Axes) and plt.get_fignums() == [ax.figure.number]
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("name", sorted(OF_PANELS))
def test_panels_are_the_axes_of_one_figure_with_alt_text(name, data):
    before = dict(mpl.rcParams)
    panels = drawn(name, data)
    assert isinstance(panels, Panels) and panels.axes.ndim == 2
    assert list(panels.axes.flat) == panels.figure.axes
    assert show(panels).alt and not plt.fignum_exists(panels.figure.number)
    assert dict(mpl.rcParams) == before
