"""A benchmark's runs become ratios, verdicts, tables, text and a chart."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from synthetic import runs_of, store_of

from netlab.analysis.compare import CANNOT_TELL, FASTER, NO_INTERVAL, SAME, SLOWER
from netlab.charts.chart import show
from netlab.errors import BadInput, NetlabError
from netlab.qualify.bench import Matrix, rounds_study
from netlab.qualify.bench_conclusions import Conclusions
from netlab.qualify.bench_ratios import BEST_PEER, medians, ratios, samples_of, summary
from netlab.qualify.charts import ratio_panels, ratios_alt

MATRIX = Matrix(("on",), (1500,), (1, 200), rounds=4, seconds=1, queues=2, most_variants=1)
RATES = {"gensink": 2000.0, "plain": 1600.0, "iperf3": 1500.0, "nuttcp": 1000.0, "iperf2": 999.0}
HOST = {"cpu_model": "a CPU", "cpus": 2, "kernel": "6.1"}
PROVENANCE = {"netlab": "1.0", "task_group": "shared", "hosts": {"sink": HOST}}


def rate_of(study, group, *_levels):
    return RATES[group.name.split(" ")[0]], "memory"


def changed(row: dict) -> None:
    """A run as of a lab; those of iperf2 with 200 streams fail in the first round."""
    row["provenance"] = json.dumps(PROVENANCE)
    row |= {"receiver_cpu_percent": 50.0, "steal_percent": 0.5, "foreign_cpu_percent": 2.0}
    row |= {"generator_version": f"{row['generator']} 1" if row["generator"] != "netlab" else None}
    if row["generator"] == "iperf2" and (row["streams"], row["round"]) == (200, 1):
        row |= {"flags": "failed", "message": "no server", "goodput_MBps": None}


@pytest.fixture(scope="module")
def study():
    return rounds_study(MATRIX, ("iperf3", "iperf2", "nuttcp"), {})


@pytest.fixture(scope="module")
def conclusions(study, tmp_path_factory) -> Conclusions:
    directory = tmp_path_factory.mktemp("bench")
    store_of(directory, study, runs_of(study, value=rate_of, change=changed, noise=0.001))
    return Conclusions.of(study, directory)


def test_the_text_names_machine_versions_load_failures_and_exclusions(conclusions):
    text = conclusions.to_text()
    for part in (
        *("a CPU", "6.1", "iperf3: iperf3 1", "netlab: 1.0", "a pair of queues for each CPU"),
        *("4 rounds of 1 s", "steal 0.5 %", "foreign load 2.0 %", "plain: netlab's own engine"),
        "2 of 64 transfers failed: iperf2 2 (no server).",
        "Left out: iperf3 with more than 128 streams. Left out: nuttcp with more",
        "2 faster, 0 slower, 0 the same within 5 %, 0 cannot tell",
        "an open ledger",
    ):
        assert part in text
    assert re.search(r"iperf2 +copy/copy 128 KiB +3 +1 ", text)


def test_a_sample_has_the_cell_the_contender_and_the_cost_of_a_run(conclusions):
    row = conclusions.samples.query("contender == 'plain' and mode == 'best'").iloc[0]
    assert (row["offloads"], row["mtu_B"], row["variant"]) == ("on", 1500, "plain copy/copy 1 MiB")
    # half of two cores
    assert row["cpu_s_per_GB"] == pytest.approx(1000 / row["goodput_MBps"])
    table = conclusions.tables()["bench-medians"].frame["failed"]
    assert table[("same", "on", 1500, 200, "iperf2")] == 1 and table.sum() == 2


@pytest.mark.parametrize(
    ("flags", "fails"),
    [("", False), ("interference", False), ("stalled", True), ("interference,implausible", True)],
)
def test_a_run_that_a_study_flags_for_anything_but_interference_failed(study, flags, fails):
    runs = runs_of(study, value=rate_of, change=changed).head(1).assign(flags=flags, message="why")
    sample = samples_of(runs).iloc[0]
    assert math.isnan(sample["goodput_MBps"]) == fails
    assert sample["error"] == ("why" if fails else "")


def test_a_benchmark_without_a_run_of_gensink_is_an_error(study, tmp_path):
    runs = runs_of(study, value=rate_of, change=changed)
    own = runs["group"].str.startswith("gensink")
    store_of(tmp_path, study, runs.assign(flags=np.where(own, "failed", ""), message="no sink"))
    with pytest.raises(NetlabError, match="all transfers of gensink failed: no sink"):
        Conclusions.of(study, tmp_path)


def test_the_tables_are_saved_and_show_themselves(conclusions, tmp_path):
    conclusions.save(tmp_path)
    assert {"bench-medians.csv", "bench-ratios.csv"} <= {file.name for file in tmp_path.iterdir()}
    assert "best peer" in conclusions.tables()["bench-ratios"]._repr_html_()


def test_the_chart_has_a_panel_a_mode_a_row_a_cell_and_words(conclusions):
    alt = ratios_alt(conclusions.ratios)
    figure = ratio_panels(conclusions.ratios).figure
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Same settings", "Each at its best"]
    assert len(figure.axes[0].get_yticklabels()) == 2
    for part, count in (("offloads on, iperf3: ×1.3", 2), ("offloads on, plain: ×1.2", 4)):
        assert show(figure, alt).alt.count(part) == count
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["iperf2", "iperf3", "nuttcp", "plain"]


def test_a_marker_of_the_chart_is_hollow_only_where_the_verdict_is_cannot_tell(conclusions):
    def fills(verdict: str) -> set[str]:
        figure = ratio_panels(conclusions.ratios.assign(verdict=verdict)).figure
        return {line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker()}

    assert "white" in fills("cannot tell")
    assert "white" not in fills("the same") | fills("faster") | fills("slower")


def test_a_chart_without_cells_is_refused(conclusions):
    with pytest.raises(BadInput, match="no cell"):
        ratio_panels(conclusions.ratios.assign(ratio=float("nan")))


# Ratios and verdicts from samples with a known truth.

CELL = {"mode": "same", "offloads": "on", "mtu_B": 1500, "streams": 4}


def samples(noise: float = 0.0, *, rounds: int = 7, seed: int = 1, **rates: float) -> pd.DataFrame:
    """Samples of contenders with given rates, and noise in each round."""
    generator = np.random.default_rng(seed)
    load = {"steal_percent": 0.0, "foreign_percent": 1.0, "flags": ""}
    rows = [
        {
            **{**CELL, "contender": name, "variant": "copy 1 MiB", "round": number},
            "goodput_MBps": rate * math.exp(noise * generator.standard_normal()),
            "cpu_s_per_GB": 1000 / rate,
            **load,
        }
        for number in range(1, rounds + 1)
        for name, rate in rates.items()
    ]
    return pd.DataFrame.from_records(rows)


def compared(frame: pd.DataFrame) -> pd.DataFrame:
    return ratios(frame).set_index("other")


def row_of(noise: float = 0.0, *, seed: int = 1, **rates: float) -> pd.Series:
    """gensink compared with iperf3, which has 1000 MB/s unless given."""
    return compared(samples(noise, seed=seed, **{"iperf3": 1000.0, **rates})).loc["iperf3"]


@pytest.mark.parametrize(
    ("noise", "rates", "verdict"),
    [
        (0.01, {"gensink": 3000.0, "iperf3": 2500.0}, FASTER),
        (0.01, {"gensink": 900.0}, SLOWER),
        # noise larger than the difference cannot be told from none
        (0.2, {"gensink": 1050.0}, CANNOT_TELL),
        # an interval within five per cent is the same, and a wider one is not
        (0.005, {"gensink": 1010.0}, SAME),
        (0.1, {"gensink": 1010.0}, CANNOT_TELL),
    ],
)
def test_a_verdict_follows_from_the_interval(noise, rates, verdict):
    row = row_of(noise, **rates)
    assert row["verdict"] == verdict
    assert verdict != CANNOT_TELL or (row["reason"] and row["noise_percent"] > 5)
    assert verdict != SAME or (row["low"] >= 0.95 and row["high"] <= 1.05)


def test_a_clear_difference_is_stated_with_an_interval_that_holds_it():
    row = row_of(0.01, gensink=3000.0, iperf3=2500.0)
    assert row["low"] < 1.2 < row["high"]
    assert row["high"] - row["low"] < 0.1
    assert row["cpu_ratio"] == pytest.approx(2500 / 3000)


def test_equal_contenders_are_seldom_found_different():
    verdicts = [row_of(0.05, seed=seed, gensink=1000.0)["verdict"] for seed in range(40)]
    assert verdicts.count(CANNOT_TELL) + verdicts.count(SAME) >= 36


def test_a_drift_common_to_all_contenders_is_not_noise():
    frame = samples(0.0, gensink=1100.0, iperf3=1000.0)
    frame["goodput_MBps"] *= 1 + 0.3 * frame["round"]
    row = compared(frame).loc["iperf3"]
    assert row["ratio"] == pytest.approx(1.1)
    assert row["noise_percent"] == pytest.approx(0.0, abs=1e-9)
    assert row["verdict"] == FASTER


def test_fewer_than_three_rounds_make_no_statement():
    row = compared(samples(0.0, rounds=2, gensink=2000.0, iperf3=1000.0)).loc["iperf3"]
    assert (row["verdict"], row["ratio"]) == (NO_INTERVAL, pytest.approx(2.0))
    assert "2 undisturbed rounds" in row["reason"]
    assert row[["low", "high", "cpu_low", "cpu_high", "p_holm"]].isna().all()


def test_disturbed_rounds_are_left_out_and_fewer_than_three_others_make_no_statement():
    frame = samples(0.0, gensink=2000.0, iperf3=1000.0)
    hit = frame["round"] <= 4
    frame.loc[hit, "flags"] = "interference"
    frame.loc[hit & (frame["contender"] == "gensink"), "goodput_MBps"] /= 4
    row = compared(frame).loc["iperf3"]
    assert (row["verdict"], row["pairs"], row["disturbed"]) == (FASTER, 3, 4)
    assert row["ratio"] == pytest.approx(2.0)
    frame.loc[(frame["round"] == 5) & (frame["contender"] == "iperf3"), "flags"] = "interference"
    row = compared(frame).loc["iperf3"]
    assert (row["verdict"], row["pairs"]) == (NO_INTERVAL, 2)
    assert "steal or foreign load in 5" in row["reason"]
    frame["flags"] = "interference"
    assert math.isnan(compared(frame).loc["iperf3", "ratio"])


def test_intervals_widen_with_the_pairs_of_their_mode_and_plain_does_not_count():
    pair = samples(0.02, gensink=1000.0, iperf3=1000.0)
    alone = compared(pair).loc["iperf3"]
    pd.testing.assert_frame_equal(compared(pair), compared(pair))  # the same each time

    def width(*further: pd.DataFrame) -> float:
        rows = ratios(pd.concat([pair, *further]))
        first = rows[(rows["mode"] == "same") & (rows["streams"] == 4)].set_index("other")
        return math.log(first.loc["iperf3", "high"] / first.loc["iperf3", "low"])

    narrow = math.log(alone["high"] / alone["low"])
    plain = pair[pair["contender"] == "iperf3"].assign(contender="plain")
    assert width(plain) == pytest.approx(narrow)
    assert width(pair.assign(mode="best")) == pytest.approx(narrow)
    assert width(pair.assign(streams=1)) > 1.1 * narrow
    assert width(plain.assign(contender="nuttcp")) > 1.1 * narrow


def test_a_failed_transfer_takes_its_round_from_the_comparison_alone():
    frame = samples(0.01, gensink=2000.0, iperf3=1000.0, nuttcp=500.0)
    frame.loc[(frame["contender"] == "iperf3") & (frame["round"] == 2), "goodput_MBps"] = None
    rows = compared(frame)
    assert (rows.loc["iperf3", "pairs"], rows.loc["nuttcp", "pairs"]) == (6, 7)
    found = medians(frame).set_index("contender")
    assert (found.loc["iperf3", "n"], found.loc["iperf3", "failed"]) == (6, 1)


def test_a_peer_that_always_failed_has_no_ratio_and_no_verdict():
    frame = samples(0.01, gensink=2000.0, iperf3=1000.0)
    frame.loc[frame["contender"] == "iperf3", "goodput_MBps"] = None
    row = compared(frame).loc["iperf3"]
    assert math.isnan(row["ratio"])
    assert row["verdict"] == NO_INTERVAL
    assert BEST_PEER not in compared(frame).index


def test_the_best_peer_is_the_one_with_the_highest_median():
    rows = compared(samples(0.01, gensink=2000.0, iperf3=1000.0, iperf2=1800.0, nuttcp=900.0))
    assert rows.loc[BEST_PEER, "against"] == "iperf2"
    assert rows.loc[BEST_PEER, "ratio"] == rows.loc["iperf2", "ratio"]


def test_plain_is_compared_and_is_never_the_best_peer():
    rows = compared(samples(0.01, gensink=2000.0, plain=1900.0, iperf3=1000.0))
    assert rows.loc["plain", "ratio"] == pytest.approx(2000 / 1900, rel=0.02)
    assert (rows.loc["plain", "against"], rows.loc[BEST_PEER, "against"]) == ("plain", "iperf3")
    alone = compared(samples(0.01, gensink=2000.0, plain=1900.0))
    assert list(alone.index) == ["plain"]


def test_the_summary_counts_verdicts_against_the_best_peer():
    best = samples(0.01, gensink=900.0, iperf3=1000.0).assign(mode="best")
    frame = pd.concat(
        [
            samples(0.01, gensink=2000.0, iperf3=1000.0, iperf2=500.0),
            samples(0.5, gensink=1000.0, iperf3=1000.0).assign(streams=1),
            best,
        ]
    )
    rows = summary(ratios(frame)).set_index("mode")
    assert list(rows.loc["same", ["cells", "faster", "the_same", "cannot_tell"]]) == [2, 1, 0, 1]
    assert list(rows.loc["best", ["cells", "slower"]]) == [1, 1]
    assert rows.loc["same", "highest_ratio"] == pytest.approx(2.0, rel=0.05)
