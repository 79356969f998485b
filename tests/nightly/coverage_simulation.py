"""Coverage of the intervals of simulated cells, whose true goodput is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from netlab.analysis.cells import LOOK_SHARE, Interval, half_width_percent, log_interval
from netlab.study.base import Precision

CELLS = 4000
NOISES = ("normal", "heavy tails", "skewed")
ROUNDS = (3, 4, 6, 12)
FIXED_SCATTER = 0.1
SCATTERS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviation of a cell's logarithms from round to round, about."""
ADAPTIVE = tuple((*rounds, scatter) for rounds in ((3, 12), (4, 24)) for scatter in SCATTERS)
"""Least and most rounds, scatter: the default of a study, and what openlab-2003 asks for."""


def simulated(rounds: int, scatter: float, noise: str, rng: np.random.Generator) -> np.ndarray:
    """Goodput of cells in rounds whose true geometric mean is 1, shape (cells, rounds).

    Each value carries an effect of its round and of its block within the round, a drift over the
    order within the round, and noise: normal, Student t with 3 degrees of freedom, or skewed to
    low values.
    """
    size = (CELLS, rounds)
    of_round = rng.normal(0, 0.5 * scatter, size)
    of_block = rng.normal(0, 0.5 * scatter, size)
    of_order = scatter * rng.uniform(-0.3, 0.3, size)
    drawn = {
        "normal": lambda: rng.normal(0, 1, size),
        "heavy tails": lambda: rng.standard_t(3, size) / math.sqrt(3),
        "skewed": lambda: 1 - rng.exponential(1, size),
    }[noise]()
    return np.exp(of_round + of_block + of_order + 0.7 * scatter * drawn)


@dataclass(frozen=True)
class Row:
    """A row of the documentation's table: coverage under each noise, and the rounds it took."""

    rounds: str
    scatter: float
    shares: dict[str, float]
    mean_rounds: str

    def line(self) -> str:
        """The row as Markdown."""
        shares = (f"{100 * self.shares[noise]:.1f} %" for noise in NOISES)
        cells = (self.rounds, f"{100 * self.scatter:g} %", *shares, self.mean_rounds)
        return f"| {' | '.join(cells)} |"


def fixed(rounds: int) -> Row:
    """Share of 95 % intervals from a fixed number of rounds that contain the true value."""
    shares = {}
    for noise in NOISES:
        values = simulated(rounds, FIXED_SCATTER, noise, np.random.default_rng(rounds))
        shares[noise] = float(np.mean([_contains(log_interval(row)) for row in values]))
    return Row(str(rounds), FIXED_SCATTER, shares, str(rounds))


def adaptive(least: int, most: int, scatter: float) -> Row:
    """Share of intervals of an adaptive study that contain the true value; mean of its rounds."""
    precision = Precision(half_width_percent=5, min_rounds=least, max_rounds=most)
    level = 1 - 0.05 * LOOK_SHARE
    shares, rounds = {}, {}
    for noise in NOISES:
        hits, took = [], []
        for row in simulated(most, scatter, noise, np.random.default_rng(7)):
            at = next(
                n
                for n in precision.looks
                if n == precision.max_rounds or half_width_percent(row[:n], level) <= 5
            )
            hits.append(_contains(log_interval(row[:at], level)))
            took.append(at)
        shares[noise], rounds[noise] = float(np.mean(hits)), float(np.mean(took))
    return Row(f"{least} to {most}", scatter, shares, f"{rounds[NOISES[0]]:.1f}")


def _contains(interval: Interval) -> bool:
    return interval.low <= 1 <= interval.high


HEADING = f"| rounds | scatter | {' | '.join(NOISES)} | mean rounds |"


def table() -> str:
    """The table of the documentation, as Markdown."""
    rows = [*map(fixed, ROUNDS), *(adaptive(*case) for case in ADAPTIVE)]
    return "\n".join([HEADING, "|---|---|" + "---|" * (len(NOISES) + 1), *(r.line() for r in rows)])


if __name__ == "__main__":
    print(table())
