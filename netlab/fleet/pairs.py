"""Pairs of hosts by rule, and rounds of pairs that share no host."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from netlab.errors import BadInput
from netlab.fleet.inventory import Inventory

Pair = tuple[str, str]
RULES = ("all", "ring", "star=HOST", "given", "A:B,C:D")


def pairs_of(inventory: Inventory, rule: str = "") -> tuple[Pair, ...]:
    """The pairs of a rule."""
    names = list(inventory.hosts)
    rule = rule or ("given" if inventory.pairs else "ring")
    head, _, rest = rule.partition("=")
    if rule == "all":
        return tuple(combinations(names, 2))
    if rule == "ring":
        return ring(names)
    if rule == "given":
        if not inventory.pairs:
            raise BadInput("the inventory has no pairs", key="pairs", code="E-FLEET-019")
        return inventory.pairs
    if head == "star":
        return tuple((_known(inventory, rest), other) for other in names if other != rest)
    if ":" in rule:
        return _listed(inventory, rule)
    raise BadInput(
        f"unknown rule; allowed: {', '.join(RULES)}", key="pairs", value=rule, code="E-FLEET-020"
    )


def ring(names: Sequence[str]) -> tuple[Pair, ...]:
    """Each host with the next, and the last with the first; two hosts are one pair."""
    following = [*names[1:], names[0]]
    return tuple(zip(names, following, strict=True))[: 1 if len(names) == 2 else None]


def _listed(inventory: Inventory, rule: str) -> tuple[Pair, ...]:
    found: dict[frozenset[str], Pair] = {}
    for text in rule.split(","):
        one, _, other = text.partition(":")
        pair = (_known(inventory, one), _known(inventory, other))
        if one == other or frozenset(pair) in found:
            raise BadInput(
                "expected two hosts, each pair once", key="pairs", value=text, code="E-FLEET-021"
            )
        found[frozenset(pair)] = pair
    return tuple(found.values())


def _known(inventory: Inventory, name: str) -> str:
    if name not in inventory.hosts:
        raise BadInput("unknown host", key="pairs", value=name, code="E-FLEET-022")
    return name


def rounds_of(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Distribute pairs over rounds in which a host is in one pair at most.

    All pairs of n hosts take n - 1 rounds, n if that is odd: a Latin square (the circle method of
    round-robin tournaments), in which no host waits. Other sets are filled in their order, each
    pair into the first round with both hosts free, in fewer than twice the rounds that the busiest
    host needs.
    """
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    edges = {frozenset(pair): pair for pair in pairs}
    if len(edges) == len(names) * (len(names) - 1) // 2:
        circle = _circle(names)
        return tuple(tuple(edges[frozenset(pair)] for pair in round) for round in circle)
    rounds: list[list[Pair]] = []
    busy: list[set[str]] = []
    for pair in pairs:
        for members, taken in zip(rounds, busy, strict=True):
            if taken.isdisjoint(pair):
                members.append(pair)
                taken.update(pair)
                break
        else:
            rounds.append([pair])
            busy.append(set(pair))
    return tuple(map(tuple, rounds))


def _circle(names: Sequence[str]) -> list[list[Pair]]:
    """All pairs by the circle method: one name stays, the others turn by one each round."""
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    found = []
    for _ in range(len(seats) - 1):
        facing = zip(seats[: len(seats) // 2], reversed(seats), strict=False)
        found.append([(a, b) for a, b in facing if a is not None and b is not None])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return found
