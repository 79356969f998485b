"""The order of a benchmark's transfers is shuffled, interleaved and the same every time."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from netlab.bench.installed import Installed
from netlab.bench.rounds import GENSINK, QUICK, Matrix, schedule
from netlab.errors import BadInput
from netlab.othertools.tools import TOOLS

PEERS = [Installed(tool, f"/usr/bin/{tool.program}", "1") for tool in TOOLS]
MATRIX = Matrix(rounds=3, seconds=1, seed=7)


def test_the_matrix_is_the_one_that_is_asked_for():
    cells = Matrix().cells
    assert len(cells) == 2 * 2 * 4 * 2
    assert {cell.streams for cell in cells} == {1, 4, 20, 200}
    assert {cell.mtu_B for cell in cells} == {1500, 9000}
    assert len(QUICK.cells) < 6


def test_the_same_seed_gives_the_same_order_and_another_seed_another():
    first, _ = schedule(MATRIX, PEERS)
    assert schedule(MATRIX, PEERS)[0] == first
    other, _ = schedule(replace(MATRIX, seed=8), PEERS)
    assert [(t.cell, t.contender) for t in other] != [(t.cell, t.contender) for t in first]
    assert Counter((t.cell, t.contender) for t in other) == Counter(
        (t.cell, t.contender) for t in first
    )


def test_every_contender_has_its_turn_in_every_cell_of_every_round():
    turns, left_out = schedule(MATRIX, PEERS)
    cannot = {(out.cell, out.contender) for out in left_out}
    wanted = {
        (number, cell, name)
        for number in (1, 2, 3)
        for cell in MATRIX.cells
        for name in (GENSINK, *(tool.name for tool in TOOLS))
        if (cell, name) not in cannot
    }
    assert {(turn.round, turn.cell, turn.contender) for turn in turns} == wanted
    assert len(turns) == len(wanted)
    assert [turn.order for turn in turns] == list(range(len(turns)))


def test_a_round_is_over_before_the_next_begins_and_the_path_is_set_up_once_a_level():
    turns, _ = schedule(MATRIX, PEERS)
    environments = [turn.cell.environment for turn in turns]
    changes = sum(a != b for a, b in pairwise(environments))
    assert changes == len(set(environments)) - 1
    for environment in set(environments):
        rounds = [turn.round for turn in turns if turn.cell.environment == environment]
        assert rounds == sorted(rounds)


def test_contenders_are_interleaved_and_not_always_in_one_order():
    turns, _ = schedule(Matrix(("on",), (1500,), (1,), ("same",), rounds=20), PEERS[:1])
    firsts = {
        next(turn.contender for turn in turns if turn.round == number) for number in range(1, 21)
    }
    assert firsts == {GENSINK, "iperf3"}


def test_a_tool_is_left_out_of_cells_with_more_streams_than_it_can_run_and_that_is_said():
    turns, left_out = schedule(MATRIX, PEERS)
    limited = {"iperf3", "nuttcp"}
    assert {(out.contender, out.cell.streams) for out in left_out} == {(n, 200) for n in limited}
    assert all("128" in out.reason for out in left_out)
    assert not any(t.contender in limited and t.cell.streams == 200 for t in turns)


@pytest.mark.parametrize(
    "wrong",
    [{"streams": (0,)}, {"mtus_B": (575,)}, {"rounds": 0}, {"seconds": 0}, {"modes": ()}],
)
def test_a_level_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        replace(MATRIX, **wrong)
