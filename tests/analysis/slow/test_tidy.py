"""Frames of results fit pandas, seaborn and other programs as they are."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import pandas as pd
import pyarrow
import pyarrow.feather
import pytest
import synthetic
from refusals import refused

import netlab
from netlab.analysis.tidy import settings as settings_of
from netlab.errors import BadInput, NetlabError

EXAMPLES = ("openlab-2003", "openlab-table-2", "slac-2003", "sc-2003", "bufferbloat", "agreement")
FRAMES = ("runs", "cells", "rates", "knobs", "settings")
FACTORS = ("group", "path", "direction", "tuning")


@pytest.fixture(scope="module")
def results():
    return {name: netlab.Results(name) for name in EXAMPLES}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("of", FRAMES)
def test_text_has_one_type_and_levels_are_ordered(results, name, of):
    frame = getattr(results[name], of)
    assert len(frame) > 0 and frame["study"].nunique() == 1
    levels = [*FACTORS, *(set(frame) & {"kernel"})]
    assert all(frame[factor].cat.ordered for factor in levels)
    text = frame.drop(columns=levels).select_dtypes(["object", "string"])
    assert {str(dtype) for dtype in text.dtypes} == {"string"}
    assert not [c for c in frame if frame[c].dtype == object]
    units = frame.attrs["units"]
    assert units["mtu_B"] == "B" and set(units) <= set(frame)


def test_levels_sort_as_the_study_lists_them():
    cells = netlab.Results("openlab-2003").cells
    assert cells["tuning"].sort_values().unique().tolist() == ["none", "kernel", "full"]
    names = netlab.Study("openlab-2003").groups
    assert cells["group"].cat.categories.tolist() == list(names)
    assert netlab.Results("sc-2003").cells["kernel"].cat.categories.tolist() == ["smp", "up"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_rates_are_those_of_the_runs(results, name):
    rates, runs = results[name].rates, results[name].runs.set_index("run_id")
    within = rates[rates["in_window"]]
    assert (within["t_window_s"] > 0).all() and (within["sample"] >= 0).all()
    assert (within.groupby(["run_id", "stream_direction"])["sample"].min() == 0).all()
    ends = rates[~rates["in_window"] & (rates["sample"] < 0)]["t_window_s"]
    assert ends.empty or ends.max() < 0.01  # streams read their clocks in turn
    moved = rates["rate_MBps"] * rates["interval_s"] * 1e6
    assert (moved - rates["bytes"]).abs().max() < 1
    whole = rates.groupby("run_id")["bytes"].sum()
    counted = runs["interval_sum_B"].reindex(whole.index).astype("Int64")
    assert (
        counted.dropna().eq(whole[counted.notna()]).all() and len(whole) == rates.run_id.nunique()
    )
    for factor in ("tuning", "mtu_B", "streams", "round"):
        assert (rates[factor].astype(str) == rates["run_id"].map(runs[factor]).astype(str)).all()


def test_rates_of_a_stream_begin_at_the_window_and_know_warm_up(results):
    rates = results["slac-2003"].rates
    one = rates[(rates["run_id"] == rates["run_id"].iloc[0]) & (rates["stream"] == 0)]
    assert one["sample"].is_monotonic_increasing and one["t_window_s"].is_monotonic_increasing
    assert one["sample"].diff().dropna().eq(1).all() and one["sample"].min() < 0


@pytest.mark.parametrize("name", EXAMPLES)
def test_knobs_are_those_of_the_records(results, name):
    knobs, runs = results[name].knobs, results[name].runs
    known = knobs[knobs["unsupported"] == ""]
    for run in (runs.iloc[0], runs.iloc[-1]):
        own = known[known["run_id"] == run["run_id"]]
        values = {
            (h, k): v for h, each in json.loads(run["knobs"]).items() for k, v in each.items()
        }
        assert own.set_index(["host", "knob"])["value"].to_dict() == values
        lacking = knobs[(knobs["run_id"] == run["run_id"]) & (knobs["unsupported"] != "")]
        assert len(lacking) == len(json.loads(run["unsupported"])) and lacking["value"].isna().all()


def test_settings_name_both_ends_of_the_run(results):
    settings, run = results["openlab-table-2"].settings, results["openlab-table-2"].runs.iloc[0]
    own = settings[settings["run_id"] == run["run_id"]].set_index(["host", "setting"])["value"]
    policy, provenance = json.loads(run["policy"]), json.loads(run["provenance"])
    assert own[run["sender"], "policy.batch_B"] == str(policy["sender"]["batch_B"])
    assert own[run["receiver"], "policy.read_delay"] == "false"
    assert own[run["sender"], "host.kernel"] == provenance["hosts"][run["sender"]]["kernel"]
    assert pd.isna(own[run["sender"], "host.numa_node"]) and own["", "netlab"]
    assert not own.index.get_level_values("setting").str.startswith("path_check").any()


def test_settings_of_a_further_sender_are_its_own(results):
    measured = results["openlab-table-2"].measured
    policy = json.dumps({"receiver": {"batch_B": 1}, "from receiver": {"batch_B": 2}})
    run = measured.runs.iloc[:1].assign(policy=policy)
    found = settings_of(replace(measured, runs=run)).set_index(["host", "setting"])["value"]
    assert found[run["receiver"].iloc[0], "policy.batch_B"] == "1"
    assert found["receiver", "policy.batch_B"] == "2"


def test_results_without_samples_have_no_rates(tmp_path):
    study = synthetic.openlab()
    store = synthetic.store_of(tmp_path / "r", study)
    for file in (tmp_path / "r" / "intervals").iterdir():
        file.unlink()
    rates = netlab.Results("openlab-2003", results=store.directory).rates
    assert rates.empty and {"tuning", "t_window_s", "rate_MBps"} <= set(rates)


def test_frames_of_several_results_stand_one_below_the_other():
    both = netlab.concat({"b": "slac-2003", "a": netlab.Results("openlab-table-2")})
    for of in FRAMES:
        whole = getattr(both, of)
        parts = [getattr(one, of) for one in both.results.values()]
        assert len(whole) == sum(map(len, parts)) and whole.columns[0] == "results"
        assert whole["results"].cat.categories.tolist() == ["b", "a"]
        assert whole["tuning"].cat.ordered and whole.attrs["units"]["mtu_B"] == "B"
        assert not [c for c in whole if whole[c].dtype == object]
        slac = whole[whole["results"] == "b"].reset_index(drop=True)
        assert slac["tuning"].astype(str).tolist() == parts[0]["tuning"].astype(str).tolist()
    assert "slac-2003" in repr(both)


@pytest.mark.parametrize("wrong", [{}, ["openlab-2003"], None])
def test_something_else_than_named_results_is_refused(wrong):
    with refused(BadInput, "E-FACE-012"):
        netlab.concat(wrong)


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("of", FRAMES)
def test_stata_reads_every_frame(results, name, of, tmp_path):
    frame = getattr(results[name], of).head(500)
    with warnings.catch_warnings(action="error"):  # as a user may run it
        read = pd.read_stata(netlab.export(frame, tmp_path / f"{of}.dta"))
    assert len(read) == len(frame)
    # Stata's names have no hyphen, which names of stacks may have
    assert list(read) == [name.replace("-", "_") for name in frame]
    frame = frame.rename(columns=lambda name: name.replace("-", "_"))
    assert read["tuning"].cat.ordered and read["mtu_B"].tolist() == frame["mtu_B"].tolist()
    assert read["tuning"].tolist() == frame["tuning"].tolist()
    for column in frame.select_dtypes("float"):
        assert read[column].equals(frame[column]), column
    for column in frame.select_dtypes("string"):
        assert read[column].tolist() == frame[column].fillna("").tolist(), column
    with pd.read_stata(tmp_path / f"{of}.dta", iterator=True) as file:
        labels = file.variable_labels()
    assert labels["mtu_B"] == "B"
    if (name, of) == ("slac-2003", "cells"):
        assert labels["share_fast_small_percent"] == "share_fast-small_percent, %"
    if "started_at" in frame:
        assert (read["started_at"] - frame["started_at"].dt.tz_localize(None)).abs().max() < (
            pd.Timedelta(1, "ms")
        )


PLAIN = (
    *(pyarrow.types.is_floating, pyarrow.types.is_integer, pyarrow.types.is_boolean),
    *(pyarrow.types.is_string, pyarrow.types.is_large_string, pyarrow.types.is_timestamp),
)
"""Types of Arrow that a reader of another language has, besides dictionaries of text."""


@pytest.mark.parametrize("suffix", ["arrow", "feather", "parquet"])
@pytest.mark.parametrize("of", FRAMES)
def test_arrow_has_types_that_other_languages_have(results, of, suffix, tmp_path):
    frame = getattr(results["sc-2003"], of)
    path = netlab.export(frame, tmp_path / f"{of}.{suffix}")
    again = pd.read_parquet(path) if suffix == "parquet" else pd.read_feather(path)
    pd.testing.assert_frame_equal(again, frame)
    if suffix == "parquet":
        return
    for field in pyarrow.feather.read_table(path).schema:
        if pyarrow.types.is_dictionary(field.type):
            assert field.type.ordered
        else:
            assert any(fits(field.type) for fits in PLAIN), field


def test_a_spreadsheet_takes_no_text_for_a_formula(results, tmp_path):
    frame = results["slac-2003"].runs.assign(message="=1+1")
    path = netlab.export(frame, tmp_path / "runs.csv")
    assert pd.read_csv(path)["message"].eq("'=1+1").all()


def test_an_index_with_names_becomes_columns(results, tmp_path):
    summary = results["slac-2003"].runs.groupby("tuning", observed=True)[["goodput_MBps"]].mean()
    assert "tuning" in pd.read_stata(netlab.export(summary, tmp_path / "deep" / "means.dta"))


def test_another_format_is_refused_and_a_failure_is_named(results, tmp_path):
    with refused(BadInput, "E-FILES-027"):
        netlab.export(results["slac-2003"].cells, tmp_path / "cells.ods")
    (tmp_path / "file").touch()
    with refused(NetlabError, "E-FILES-028"):
        netlab.export(results["slac-2003"].cells, tmp_path / "file" / "cells.csv")


def test_seaborn_draws_a_long_frame_as_it_is(results):
    import matplotlib.pyplot as plt
    import seaborn as sns

    rates = results["openlab-table-2"].rates
    grid = sns.relplot(
        rates[rates["flags"] == ""], x="sample", y="rate_MBps", hue="tuning", kind="line",
        palette=netlab.palette(rates["tuning"]), errorbar=None, height=2,
    )  # fmt: skip
    assert [text.get_text() for text in grid.legend.get_texts()] == ["none", "kernel", "full"]
    plt.close(grid.figure)
