"""Simulated cells whose true goodput is known, and how often their intervals contain it."""

from __future__ import annotations

import math

import numpy as np

from netlab.analysis.intervals import log_interval
from netlab.analysis.precision import LOOK_SHARE, half_width_percent
from netlab.study.precision import Precision

CELLS = 4000
NOISES = ("normal", "heavy tails", "skewed")
SCATTERS = (0.02, 0.05, 0.1, 0.2)
"""Standard deviation of a cell's logarithms from round to round, about."""


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


def fixed(rounds: int, noise: str) -> float:
    """Share of 95 % intervals from a fixed number of rounds that contain the true value."""
    values = simulated(rounds, 0.1, noise, np.random.default_rng(rounds))
    return float(np.mean([_holds(row, 0.95) for row in values]))


def adaptive(scatter: float, noise: str) -> tuple[float, float]:
    """Share of intervals of an adaptive study that contain the true value; mean of its rounds."""
    precision = Precision(half_width_percent=5, min_rounds=3, max_rounds=12)
    level = 1 - 0.05 * LOOK_SHARE
    held, rounds = [], []
    for row in simulated(12, scatter, noise, np.random.default_rng(7)):
        at = next(
            n
            for n in precision.looks
            if n == precision.max_rounds or half_width_percent(row[:n], level) <= 5
        )
        held.append(_holds(row[:at], level))
        rounds.append(at)
    return float(np.mean(held)), float(np.mean(rounds))


def _holds(values: np.ndarray, level: float) -> bool:
    found = log_interval(values, level)
    return found.low <= 1 <= found.high


def table() -> str:
    """The table of the documentation, as Markdown."""
    lines = [
        "| rounds | scatter | " + " | ".join(NOISES) + " | mean rounds |",
        "|---|---|" + "---|" * (len(NOISES) + 1),
    ]
    for rounds in (3, 4, 6, 12):
        shares = " | ".join(f"{100 * fixed(rounds, noise):.1f} %" for noise in NOISES)
        lines.append(f"| {rounds} | 10 % | {shares} | {rounds} |")
    for scatter in SCATTERS:
        found = [adaptive(scatter, noise) for noise in NOISES]
        shares = " | ".join(f"{100 * share:.1f} %" for share, _ in found)
        lines.append(f"| 3 to 12 | {100 * scatter:g} % | {shares} | {found[0][1]:.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
