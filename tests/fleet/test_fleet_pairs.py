"""Pairs by rule are the pairs that the rule says; in a round a host is busy once."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

from netlab.errors import BadInput
from netlab.fleet.inventory import Inventory
from netlab.fleet.pairs import pairs_of, ring, rounds_of

counts = st.integers(min_value=2, max_value=40)


def names(count: int) -> list[str]:
    return [f"h{number}" for number in range(count)]


def fleet(count: int = 4, pairs: tuple[tuple[str, str], ...] = ()) -> Inventory:
    return Inventory.model_validate({"hosts": {name: {} for name in names(count)}, "pairs": pairs})


def as_sets(pairs) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairs}


@given(counts)
def test_all_pairs_are_there_once(count):
    pairs = pairs_of(fleet(count), "all")
    assert len(pairs) == len(as_sets(pairs)) == count * (count - 1) // 2


@given(counts)
def test_a_ring_joins_every_host_to_two_others_and_two_hosts_once(count):
    pairs = ring(names(count))
    assert len(as_sets(pairs)) == len(pairs) == (1 if count == 2 else count)
    degrees = [sum(name in pair for pair in pairs) for name in names(count)]
    assert set(degrees) == {1 if count == 2 else 2}


@given(counts)
def test_a_star_joins_one_host_to_all_others(count):
    pairs = pairs_of(fleet(count), "star=h1")
    assert all(pair[0] == "h1" for pair in pairs)
    assert {pair[1] for pair in pairs} == set(names(count)) - {"h1"}


def test_pairs_are_the_given_ones_or_a_ring_by_default():
    chosen = (("h2", "h0"), ("h1", "h3"))
    assert pairs_of(fleet(4, chosen)) == pairs_of(fleet(4, chosen), "given") == chosen
    assert pairs_of(fleet(4)) == ring(names(4))
    assert pairs_of(fleet(4), "h3:h1,h0:h1") == (("h3", "h1"), ("h0", "h1"))


def busy_once(rounds) -> bool:
    return all(len(pairs) * 2 == len({n for pair in pairs for n in pair}) for pairs in rounds)


@given(counts)
def test_rounds_of_all_pairs_are_a_latin_square(count):
    pairs = pairs_of(fleet(count), "all")
    rounds = rounds_of(pairs)
    assert busy_once(rounds)
    assert len(rounds) == (count - 1 if count % 2 == 0 else count)
    assert {len(one) for one in rounds} == {count // 2}
    assert sorted(pair for one in rounds for pair in one) == sorted(pairs)


@given(st.sets(st.sampled_from(list(combinations(names(12), 2))), min_size=1), st.randoms())
def test_rounds_of_any_pairs_have_each_pair_once_and_a_host_at_most_once(chosen, random):
    pairs = list(chosen)
    random.shuffle(pairs)
    rounds = rounds_of(pairs)
    assert busy_once(rounds)
    assert sorted(pair for one in rounds for pair in one) == sorted(pairs)
    busiest = max(sum(name in pair for pair in pairs) for name in names(12))
    assert len(rounds) < 2 * busiest or len(rounds) == 1


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("given", "E-FLEET-019"),
        ("square", "E-FLEET-020"),
        ("h0:h0", "E-FLEET-021"),
        ("h0:h1,h1:h0", "E-FLEET-021"),
        ("h0:h9", "E-FLEET-022"),
        ("star=", "E-FLEET-022"),
        ("star=h9", "E-FLEET-022"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(rule, code):
    with refused(BadInput, code):
        pairs_of(fleet(), rule)
