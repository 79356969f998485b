"""Pairs of hosts by rule, and rounds of pairs that share no host."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netlab.errors import BadInput, check
from netlab.fleet.inventory import Inventory

Pair = tuple[str, str]
RULES = ("all", "ring", "star=HOST", "given", "A:B,C:D")


def pairs_of(inventory: Inventory, rule: str = "") -> tuple[Pair, ...]:
    names = list(inventory.hosts)
    rule = rule or ("given" if inventory.pairs else "ring")
    head, _, rest = rule.partition("=")
    if rule == "all":
        return tuple(_circle(names))
    if rule == "ring":
        return ring(names)
    if rule == "given":
        check(inventory.pairs, "pairs", None, "the inventory has no pairs", "E-FLEET-019")
        return inventory.pairs
    if head == "star":
        return tuple((_known(inventory, rest), other) for other in names if other != rest)
    if ":" in rule:
        return _listed(inventory, rule)
    text = f"unknown rule; allowed: {', '.join(RULES)}"
    raise BadInput(text, key="pairs", value=rule, code="E-FLEET-020")


def ring(names: Sequence[str]) -> tuple[Pair, ...]:
    """Each host with the next, and the last with the first; two hosts are one pair."""
    following = [*names[1:], names[0]]
    return tuple(zip(names, following, strict=True))[: 1 if len(names) == 2 else None]


def _listed(inventory: Inventory, rule: str) -> tuple[Pair, ...]:
    pairs_by_ends: dict[frozenset[str], Pair] = {}
    for text in rule.split(","):
        one, _, other = text.partition(":")
        pair = (_known(inventory, one), _known(inventory, other))
        fine = one != other and frozenset(pair) not in pairs_by_ends
        check(fine, "pairs", text, "expected two hosts, each pair once", "E-FLEET-021")
        pairs_by_ends[frozenset(pair)] = pair
    return tuple(pairs_by_ends.values())


def _known(inventory: Inventory, name: str) -> str:
    check(name in inventory.hosts, "pairs", name, "unknown host", "E-FLEET-022")
    return name


def rounds_of(pairs: Sequence[Pair]) -> tuple[tuple[Pair, ...], ...]:
    """Distribute pairs over rounds in which a host is in one pair at most.

    Each pair goes in its order into the first round with both hosts free, in fewer than twice the
    rounds that the busiest host needs.
    """
    rounds: list[list[Pair]] = []
    busy: list[set[str]] = []
    for pair in pairs:
        at = next((at for at, taken in enumerate(busy) if taken.isdisjoint(pair)), len(busy))
        if at == len(busy):
            rounds.append([])
            busy.append(set())
        rounds[at].append(pair)
        busy[at].update(pair)
    return tuple(map(tuple, rounds))


def _circle(names: Sequence[str]) -> Iterator[Pair]:
    """All pairs by the circle method: one name stays, the others turn by one each round.

    Rounds of them are a Latin square, in which no host waits: n - 1 of n hosts, n if that is odd.
    """
    seats: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    order = {name: at for at, name in enumerate(names)}
    for _ in range(len(seats) - 1):
        for pair in zip(seats[: len(seats) // 2], reversed(seats), strict=False):
            ends = [name for name in pair if name is not None]
            if len(ends) == 2:
                one, other = sorted(ends, key=order.__getitem__)
                yield one, other
        seats = [seats[0], seats[-1], *seats[1:-1]]
