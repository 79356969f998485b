"""Stored results: frames, selection, a chart, and how they show themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import guide
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import synthetic

import netlab
from netlab.errors import BadInput, NetlabError
from netlab.files.paths import example
from netlab.results.store import Store
from netlab.study.frozen import freeze


def test_a_name_a_short_forms_name_and_a_directory_are_the_same_results(results):
    given = netlab.Results("openlab-2003", results=results.directory)
    for other in (*map(netlab.Results, ("openlab-2003-quick", results.directory)), given):
        assert other.name == "openlab-2003-quick"
        pd.testing.assert_frame_equal(other.runs, results.runs)


def test_a_directory_that_is_named_like_no_study_is_taken_from_here(home, tmp_path):
    study = synthetic.foreign(tmp_path)
    synthetic.store_of(home / "elsewhere", study)
    freeze(study, home / "elsewhere")
    assert netlab.Results("elsewhere").name == "two-racks"
    assert netlab.Results("./elsewhere").directory == home / "elsewhere"
    with pytest.raises(BadInput, match="the study is 'openlab-2003'"):
        netlab.Results("openlab-2003", results="elsewhere")


@pytest.mark.parametrize("name", ["slac-2003", "slac-2003-quick"])
def test_a_study_that_is_not_measured_here_is_shown_by_its_example(home, name):
    results = netlab.Results(name)
    assert results.directory == example("slac-2003")
    command = rf"cd {home} && \S+/netlab run slac-2003 --quick"
    first, call, shell = str(results.source).splitlines()
    assert first.startswith("Example ") and re.fullmatch(f"In a terminal: {command}", shell)
    assert call.endswith(": netlab.Study('slac-2003', quick=True).run()")


def test_results_of_ones_own_come_before_the_example(results):
    compared = netlab.compare("openlab-2003", by="tuning=none,full")
    assert compared.sides.a.directory == results.directory
    said = r"Results of openlab-2003-quick, measured on [0-9-]+\."
    assert re.fullmatch(said, str(compared.source))


def test_the_command_under_an_example_has_a_call_for_each_outer_level(home):
    source = str(netlab.Results("sc-2003").source)
    for kernel in ("smp", "up"):
        assert f"netlab.Study('sc-2003', quick=True).run(outer={{'kernel': '{kernel}'}})" in source
    assert source.endswith(
        "netlab run sc-2003 --quick --outer=kernel=smp"
        f" && {Path(sys.executable).with_name('netlab')} run sc-2003 --quick --outer=kernel=up"
    )


def test_missing_results_are_an_error(home):
    for name in ("openlab-2004", "two-stacks"):  # files of other tools are no results
        with pytest.raises(BadInput, match="by name there are"):
            netlab.Results(name)
    with pytest.raises(NetlabError, match="measure the study first"):
        netlab.Results("openlab-2003", results=home / "nowhere")


def test_the_frames_are_those_of_the_store(results):
    store = Store(results.directory)
    pd.testing.assert_frame_equal(results.runs.astype(object), store.runs().astype(object))
    pd.testing.assert_frame_equal(results.intervals, store.intervals())
    assert len(results.runs) == 420


def test_cells_have_the_documented_columns_and_the_numbers_of_the_analysis(results):
    reference = (guide.DOCS / "columns.md").read_text("utf-8")
    section = reference.partition("\n## Cells\n")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    cells, m = results.cells, results.measured
    assert [name for name in cells if name != "bottleneck"] == documented
    same = [frame.astype(object) for frame in (cells[[*m.cells]], m.cells)]
    pd.testing.assert_frame_equal(*same)
    assert cells["study"].eq(results.name).all()
    units = cells.attrs["units"]
    assert (units["goodput_MBps"], units["percent_low"], units["mtu_B"]) == ("MB/s", "%", "B")
    assert {name for name in cells if name.endswith(("_MBps", "_us", "_B"))} <= set(units)
    by_hand = results.runs_of(group="Linux64 -> Linux64", tuning="full", mtu_B=9000, streams=4)
    row = cells.set_index(["group", "tuning", "mtu_B", "streams"])
    row = row.loc[("Linux64 -> Linux64", "full", 9000, 4)]
    assert row["goodput_MBps"] == pytest.approx(np.exp(np.log(by_hand["goodput_MBps"]).mean()))
    assert row["percent_of_bus"] == pytest.approx(100 * row["goodput_MBps"] / 2128)
    assert row["bottleneck"] == "bus"
    # the short form has three rounds, the fewest that carry an interval
    assert (cells["low_MBps"] < cells["goodput_MBps"]).all()
    assert (cells["goodput_MBps"] < cells["high_MBps"]).all()


def test_a_cell_without_a_valid_run_gives_the_reason(tmp_path):
    study = synthetic.foreign(tmp_path)
    runs = synthetic.runs_of(study, change=synthetic.only(streams=(1,)))
    synthetic.store_of(tmp_path / "store", study, runs)
    freeze(study, tmp_path / "store")
    cells = netlab.Results(tmp_path / "store").cells
    assert cells["missing_because"].tolist() == ["", "not measured"]
    assert cells["n_valid"].tolist() == [1, 0]
    assert cells["goodput_MBps"].isna().tolist() == [False, True]


def test_runs_are_selected_by_any_of_their_factors(results):
    some = results.runs_of(tuning="full", mtu_B=9000, streams=4)
    assert len(some) == 15 and set(some["group"]) == set(results.groups)
    assert len(results.runs_of(streams=[1, 4])) == 210
    assert len(results.runs_of()) == 420
    assert results.runs_of(tuning="none", mtu_B=16114).empty


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ({"tuning": "fool"}, "tuning: no run has this value; there are full, kernel, none"),
        ({"mtu": 9000}, "mtu: the runs have no such column; factors are group"),
        ({"streams": [1, 3]}, "there are 1, 4, 12, 20 .found 3."),
    ],
)
def test_a_mistyped_factor_or_level_is_an_error_with_the_choices(results, levels, said):
    with pytest.raises(BadInput, match=said):
        results.runs_of(**levels)


def test_a_chart_is_drawn_on_the_axes_given_and_changes_no_default(results):
    before = dict(plt.rcParams)
    fig, (left, right) = plt.subplots(1, 2)
    assert results.plot("Linux64 -> Linux64", ax=left) is left
    assert results.plot("Linux64 -> Linux64", y="percent_of_bus", tuning="full", ax=right) is right
    assert left.get_ylabel() == "goodput, MB/s" and right.get_ylabel() == "goodput, % of bus"
    assert results.plot("Linux32 <-> Linux64").figure is not fig
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize(
    ("group", "more", "said"),
    [
        ("Linux64", {}, "no such group; there are 'Linux64 -> Linux64'"),
        ("Linux64 -> Linux64", {"y": "median"}, "y: must be one of goodput_MBps, percent_of_bus"),
        ("Linux64 -> Linux64", {"tuning": "x"}, "tuning: must be one of none, kernel, full"),
    ],
)
def test_a_chart_of_something_else_is_an_error_with_the_choices(results, group, more, said):
    with pytest.raises(BadInput, match=said):
        results.plot(group, **more)
    assert plt.get_fignums() == []


def test_they_show_themselves_as_html_and_as_text(results):
    page, text = results._repr_html_(), repr(results)
    for words in ("The study in short", "420, of which 0 flagged", "Table 2: Linux64 -> Linux64"):
        assert words in text
        assert words.replace(">", "&gt;") in page


def test_showing_them_loads_no_chart_and_no_notebook(results):
    code = (
        "import sys, netlab; print(repr(netlab.Results(sys.argv[1]))); "
        "print([n for n in ('matplotlib', 'nbformat', 'nbconvert') if n in sys.modules])"
    )
    argv = (sys.executable, "-c", code, str(results.directory))
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
