"""A/A calibration: the number of identical pairs that are found different, by load."""

import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from netlab.cli.calibrate import calibrate_command
from netlab.errors import BadInput
from netlab.qualify.calibration import burner
from netlab.qualify.calibration.aa import (
    LOADS,
    QUICK_AA,
    QUIET,
    AaPlan,
    AaResult,
    independent,
    wilson,
)
from netlab.qualify.calibration.burner import CpuLoad, left_in_spell_s
from netlab.qualify.calibration.document import CalibrationDocument
from netlab.study.schedule import rounds, visits

PLAN = AaPlan(paths=2, tunings=2, groups=2, rounds=6, loads=(QUIET, CpuLoad("spells", 7.0, 7.0)))


def samples(*, spread=0.01, of_load=0.0, of_cell=0.0, flags="", seed=1, loads=("none", "spells")):
    """Runs of all cells; `of_load` is an effect of the round, `of_cell` one of the cell."""
    rng = np.random.default_rng(seed)
    found = []
    for load in loads:
        effects = 1 + (of_load if load == "spells" else 0) * rng.standard_normal(PLAN.rounds)
        for number, effect in enumerate(np.abs(effects), start=1):
            for at in range(8):
                value = 100 * effect * (1 + of_cell * at) * np.exp(spread * rng.standard_normal())
                names = {"path": f"p{at % 2}", "tuning": f"t{at // 4}", "group": f"g{at // 2 % 2}"}
                found.append(
                    {"load": load, **names, "round": number, "goodput_MBps": value, "flags": flags}
                )
    return found


def test_identical_cells_are_alike_under_any_effect_of_a_round():
    apart = pairs = 0
    for seed in range(20):
        done = AaResult.of(PLAN, samples(of_load=0.3, seed=seed), {})
        assert done.cells["pairs"].tolist() == [28, 28]
        apart += done.cells["apart"].sum()
        pairs += done.cells["pairs"].sum()
    assert 0.01 < apart / pairs < 0.09


def test_cells_that_differ_are_found_different():
    done = AaResult.of(PLAN, samples(of_cell=0.2), {})
    assert (done.cells["percent"] > 90).all()
    assert done.verdicts == ["outside", "outside"]
    assert "are not within their bound" in CalibrationDocument("now", aa=done).complaint


def test_flagged_runs_are_counted_separately_and_few_rounds_give_no_verdict():
    done = AaResult.of(PLAN, samples(flags="interference"), {})
    assert done.verdicts == ["not measured", "not measured"]
    assert done.cells["flagged"].tolist() == [48, 48] and done.cells["pairs"].tolist() == [0, 0]
    assert done.cells["all_pairs"].tolist() == [28, 28]
    assert (done.cells["all_percent"] == 100 * done.cells["all_apart"] / 28).all()
    few = [one for one in samples() if one["round"] <= 2]
    assert AaResult.of(PLAN, few, {}).verdicts == ["not measured", "not measured"]
    assert AaResult.of(PLAN, [], {}).verdicts == ["not measured", "not measured"]


def test_a_count_is_outside_only_with_its_whole_interval():
    assert all(map(math.isnan, wilson(0, 0)))
    low, high = wilson(5, 100)
    assert 0.02 < low < 0.05 < high < 0.12
    assert wilson(0, 50)[0] == 0.0 and wilson(50, 50)[1] == 1.0


def test_pairs_that_share_a_cell_count_less_than_independent_ones():
    apart = [(0, 1, False), (2, 3, True), (4, 5, False)]
    assert independent(apart) == 3 and independent([]) == 0
    every = [(a, b, False) for a in range(12) for b in range(a)]
    assert 19 < independent(every) < 20  # 66 / (1 + 20 * 0.12)


def test_identical_cells_are_outside_in_few_of_many_calibrations():
    done = [AaResult.of(PLAN, samples(seed=seed), {}) for seed in range(60)]
    rows = pd.concat([one.cells for one in done])
    outside = (rows["verdict"] == "outside").mean()
    plain = np.mean([wilson(row.apart, row.pairs)[0] > 0.05 for row in rows.itertuples()])
    assert outside <= 0.08 and outside < 0.7 * plain, (outside, plain)


def test_the_plan_has_identical_blocks_and_visits_them_in_rounds():
    study = PLAN.study()
    assert study.congestion == "cubic"
    assert (
        len({json.dumps(path.link.model_dump(mode="json")) for path in study.paths.values()}) == 1
    )
    assert (
        len({json.dumps([k.model_dump() for k in t.knobs], default=str) for t in study.tunings})
        == 1
    )
    assert [len(each) for each in rounds(study)] == [4] * 6
    assert PLAN.visits == 2 * len(visits(study)) == 48
    assert [v.block_id for v in visits(study)] != [v.block_id for v in visits(PLAN.study(1))]
    assert QUICK_AA.visits < AaPlan().visits and len(LOADS) == 4


@pytest.mark.parametrize("wrong", [{"rounds": 2}, {"paths": 0}, {"tunings": 99}, {"groups": 0}])
def test_a_plan_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))) as caught:
        AaPlan(**wrong)
    assert caught.value.code == "E-CALIBRATION-005"


def test_the_result_has_text_table_and_json(tmp_path):
    done = AaResult.of(PLAN, samples(), {"kernel": "6.1"})
    assert (
        "found different" in done.to_text()
        and "12 % of each CPU, 7 s on, 7 s off" in done.to_text()
    )
    written = json.loads(CalibrationDocument("now", aa=done).save(tmp_path).read_text())
    assert len(written["aa"]["samples"]) == 96 and written["machine"] == {"kernel": "6.1"}
    assert (tmp_path / "calibration-aa.csv").is_file()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def test_the_load_burns_cpu_while_it_is_on_and_is_gone_afterwards():
    with CpuLoad("test", 60.0, 1.0, 80.0).injected() as pids:
        assert pids
        # what Python takes to start is not yet the load
        until = time.monotonic() + 30
        while time.monotonic() < until and not all(_cpu_s(pid) > 1 for pid in pids):
            time.sleep(0.1)
        assert all(_cpu_s(pid) > 1 for pid in pids)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    with QUIET.injected() as none:
        assert none == []


def test_the_load_ends_with_the_process_that_started_it():
    argv = (sys.executable, "-m", burner.__name__, "0", "0.1", "5", "10")
    process = subprocess.Popen(argv, stdin=subprocess.PIPE)
    process.stdin.close()
    assert process.wait(timeout=20) == 0


@pytest.mark.parametrize("argv", [("--rate", "100"), ("--only", "rates"), ("--rtt", "2")])
def test_options_of_other_parts_are_refused_beside_aa(argv):
    done = CliRunner().invoke(calibrate_command, ["--aa", *argv])
    assert done.exit_code == 2 and f"--aa does not use {argv[0]}" in done.output


def test_a_load_begins_half_a_pause_after_the_start():
    assert left_in_spell_s(0, 200, 200) == -100
    assert left_in_spell_s(99, 200, 200) == -1
    assert left_in_spell_s(100, 200, 200) == 200
    assert left_in_spell_s(299, 200, 200) == 1
    assert left_in_spell_s(300, 200, 200) == -200


@given(st.floats(0, 1e4), st.floats(0.1, 300), st.floats(0.1, 300))
def test_a_spell_and_a_pause_are_as_long_as_asked(elapsed_s, on_s, off_s):
    assert -off_s * 1.001 <= left_in_spell_s(elapsed_s, on_s, off_s) <= on_s


def test_each_default_load_leaves_runs_without_it():
    plan = AaPlan()
    campaign_s = plan.paths * plan.tunings * plan.rounds * 2.6  # seconds a visit, measured
    for load in plan.loads:
        if load.on_s:
            times = range(int(campaign_s))
            on = sum(left_in_spell_s(at, load.on_s, load.off_s) > 0 for at in times)
            assert 0.3 < on / campaign_s < 0.7, load
