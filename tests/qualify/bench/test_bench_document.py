"""Output of a benchmark: text, tables, chart and JSON of made-up samples."""

import json
import math
import re
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from netlab.analysis.compare import CANNOT_TELL, FASTER, SAME, SLOWER
from netlab.charts.chart import show
from netlab.charts.experiments import ratio_panels, ratios_alt
from netlab.errors import BadInput
from netlab.qualify.bench_contenders import CopyLimits, LeftOut, Matrix, copy_limits
from netlab.qualify.bench_report import BEST_PEER, Conclusions, medians, ratios, summary
from netlab.qualify.bench_run import Bench

MATRIX = Matrix(("on",), (1500,), (1, 200), ("same", "best"), rounds=4, seconds=1)


CHOSEN = {
    "gensink": "copy/discard 1 MiB",
    "plain": "plain copy/copy 1 MiB",
    "iperf3": "copy 1 MiB",
    "nuttcp": "1 MiB",
}
RATES = {"gensink": 2000.0, "plain": 1600.0, "iperf3": 1500.0, "nuttcp": 1000.0}


def sample(order, cell, contender, number, goodput_MBps, error=""):
    best = cell.mode == "best"
    return {
        **{"order": order, "round": number, **asdict(cell), "contender": contender},
        "variant": CHOSEN[contender] if best else "128 KiB",
        **{"record_length_B": 131072, "started_unix_s": 1.0},
        "goodput_MBps": None if error else goodput_MBps,
        **{"window_s": 1.0, "wall_s": 1.1, "payload_B": 10**9, "busy_s": 1.5, "cpu_s_per_GB": 1.5},
        **{"steal_percent": 0.5, "foreign_percent": 2.0, "flags": "", "error": error},
    }


def heat(order, cell, contender, variant, goodput_MBps, error=""):
    row = sample(order, cell, contender, 1, goodput_MBps, error)
    del row["round"]
    return {**row, "heat": 1, "variant": variant}


@pytest.fixture
def conclusions() -> Conclusions:
    samples = []
    for cell in MATRIX.cells:
        for number in range(1, 5):
            error = "no server" if (cell.streams, number) == (200, 1) else ""
            for name, rate in RATES.items():
                rate *= 1 + 0.001 * number
                found = sample(len(samples), cell, name, number, rate, error * (name == "nuttcp"))
                samples.append(found)
    limits = CopyLimits(2, 20_000.0, 6_000.0, 40_000.0, 9_000.0)
    tools = {name: {"version": f"{name} 1", "program": "x"} for name in ("gensink", "iperf3")}
    left_out = (LeftOut(MATRIX.cells[0], "iperf2", "at most 3 streams"),)
    machine = {"cpu_model": "a CPU", "cpus": 2, "kernel": "6.1", "task_group": "lab"}
    heats, variants = [], []
    for cell in (cell for cell in MATRIX.cells if cell.mode == "best"):
        for variant, rate, error in (
            ("copy/discard 1 MiB", 9999.0, ""),
            ("splice/discard 1 MiB", 0.0, "refused: splice"),
        ):
            heats.append(heat(len(heats), cell, "gensink", variant, rate, error))
            found = math.nan if error else rate
            result = {"heats": 1, "failed": int(error != ""), "goodput_MBps": found}
            named = {**asdict(cell), "contender": "gensink", "variant": variant}
            variants.append({**named, **result, "chosen": not error, "reason": error})
    everything = (tuple(samples), tuple(heats), tuple(variants), left_out)
    bench = Bench(MATRIX, machine, limits, tools, *everything, "2026-01-01T00:00:00Z")
    return Conclusions.of(bench)


def test_the_text_names_machine_versions_limits_load_and_exclusions(conclusions):
    text = conclusions.to_text()
    for part in (
        *("a CPU", "6.1", "iperf3 1", "2026-01-01", "40000 hot", "9000 cold"),
        *("steal 0.5 %", "foreign load 2.0 %", "at most 3 streams"),
        "2 of 64 transfers failed: nuttcp 2 (no server).",
        "median ratio 1.333",
        "plain: netlab's own engine",
        *("2 faster, 0 slower, 0 the same within 5 %, 0 cannot tell", "Holm"),
    ):
        assert part in text


@pytest.mark.parametrize(
    ("queues", "says"),
    [(1, "one pair of queues"), (2, "a pair of queues for each CPU"), (3, "3 pairs of queues")],
)
def test_the_text_has_the_number_of_queues_of_the_links(conclusions, queues, says):
    bench = replace(conclusions.bench, matrix=replace(MATRIX, queues=queues))
    other = Conclusions.of(bench)
    assert f"cubic; {says}; same settings" in other.conditions()
    assert other.as_json()["settings"]["queues"] == queues


def test_the_text_has_the_chosen_and_the_refused_variants(conclusions):
    text = conclusions.to_text()
    assert re.search(r" iperf3 +copy 1 MiB ", text)
    for part in (
        "gensink: copy/discard 1 MiB in 2 of 2 cells",
        "gensink, splice/discard 1 MiB, failed heats: 2 (refused: splice)",
    ):
        assert part in text
    assert "heats" not in Conclusions.of(without_heats(conclusions.bench)).conditions()


def test_heats_are_in_the_document_and_in_no_figure(conclusions):
    document = conclusions.as_json()
    assert [one["variant"] for one in document["heats"]] == 2 * [
        *("copy/discard 1 MiB", "splice/discard 1 MiB")
    ]
    for row in document["variants"]:
        assert row["chosen"] == (row["reason"] == "")
    assert document["settings"]["heats"] == 2
    alone = Conclusions.of(without_heats(conclusions.bench))
    pd.testing.assert_frame_equal(alone.medians, conclusions.medians)
    pd.testing.assert_frame_equal(alone.ratios, conclusions.ratios)
    best = conclusions.medians[conclusions.medians["mode"] == "best"]
    assert dict(zip(best["contender"], best["variant"], strict=True)) == CHOSEN


def test_without_a_cell_at_its_best_there_is_no_table_of_variants(conclusions, tmp_path):
    Conclusions.of(without_heats(conclusions.bench)).save(tmp_path)
    assert not list(tmp_path.glob("bench-variants*"))


def without_heats(bench: Bench) -> Bench:
    return replace(bench, heats=(), variants=())


def test_the_document_has_every_sample_and_null_for_unknown_values(conclusions, tmp_path):
    path = conclusions.save(tmp_path / "out")
    document = json.loads(path.read_text())
    assert document["netlab_bench"] == 5
    assert document["settings"]["same_within_percent"] == 5.0
    assert len(document["samples"]) == 64
    assert sum(one["goodput_MBps"] is None for one in document["samples"]) == 2
    assert document["memory_copy"]["all_hot_MBps"] == 40_000.0
    assert document["settings"]["congestion"] == "cubic"
    assert {row["verdict"] for row in document["ratios"]} == {"faster"}
    assert {file.name for file in path.parent.iterdir()} == {
        *("bench.json", "bench-medians.csv", "bench-medians.tex"),
        *("bench-ratios.csv", "bench-ratios.tex"),
        *("bench-variants.csv", "bench-variants.tex"),
    }


def test_failed_transfers_are_counted_in_the_table_and_the_text(conclusions):
    table = conclusions.tables()["bench-medians"].frame["failed"]
    assert table[("same", "on", 1500, 200, "nuttcp")] == 1
    assert table.sum() == 2
    assert re.search(r"nuttcp +128 KiB +3 +1 ", conclusions.to_text())
    assert "an open ledger" in conclusions.method()


def test_the_tables_show_themselves(conclusions):
    assert "best peer" in conclusions.tables()["bench-ratios"]._repr_html_()
    assert "refused: splice" in conclusions.tables()["bench-variants"]._repr_html_()
    assert "22.3" in conclusions.tables()["bench-medians"]._repr_html_()  # of the cold copy rate


def test_the_chart_has_a_panel_a_mode_a_row_a_cell_and_words(conclusions):
    alt = ratios_alt(conclusions.ratios)
    figure = ratio_panels(conclusions.ratios).figure
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["Same settings", "Each at its best"]
    assert len(figure.axes[0].get_yticklabels()) == 2
    for part in ("offloads on, iperf3: ×1.33 (1.3", "offloads on, plain: ×1.25 (1.2"):
        assert show(figure, alt).alt.count(part) == 4
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["iperf3", "nuttcp", "plain"]


def test_a_marker_of_the_chart_is_hollow_only_where_the_verdict_is_cannot_tell(conclusions):
    def fills(verdict: str) -> set[str]:
        figure = ratio_panels(conclusions.ratios.assign(verdict=verdict)).figure
        return {line.get_markerfacecolor() for line in figure.axes[0].lines if line.get_marker()}

    assert "white" in fills("cannot tell")
    assert "white" not in fills("the same") | fills("faster") | fills("slower")


def test_a_chart_without_cells_is_refused(conclusions):
    with pytest.raises(BadInput, match="no cell"):
        ratio_panels(conclusions.ratios.assign(ratio=float("nan")))


def test_the_limits_are_of_one_core_and_of_all():
    limits = copy_limits(budget_ms=20)
    assert limits.cores >= 1
    assert min(limits.one_hot_MBps, limits.one_cold_MBps) > 0
    # under any load all cores together are not far below one of them
    assert limits.all_cold_MBps > 0.3 * limits.one_cold_MBps


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
    assert (row["verdict"], row["ratio"]) == (CANNOT_TELL, pytest.approx(2.0))
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
    assert (row["verdict"], row["pairs"]) == (CANNOT_TELL, 2)
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
    assert row["verdict"] == CANNOT_TELL
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


def test_medians_are_shown_as_shares_of_the_memory_copy_rate():
    frame = samples(0.0, gensink=2000.0, iperf3=1000.0)
    found = medians(frame, 40_000.0, 10_000.0).set_index("contender")
    assert found.loc["gensink", "percent_of_hot_copy"] == pytest.approx(5.0)
    assert found.loc["iperf3", "percent_of_cold_copy"] == pytest.approx(10.0)
    assert found.loc["gensink", "least_MBps"] <= 2000 <= found.loc["gensink", "most_MBps"]


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
