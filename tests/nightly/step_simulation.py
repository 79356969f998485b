"""Coverage of the intervals of mean ratios in simulated campaigns, whose true ratios are 1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from coverage_simulation import NOISES

from netlab.analysis.cells import CELL_KEYS, LOOK_SHARE, half_width_percent
from netlab.analysis.effects import mean_ratio, without_rounds
from netlab.study.base import Precision

STEPS = 600
CELLS, VISIT = 24, 4
"""Cells of a campaign; those of a visit follow each other."""
SCATTERS = (0.01, 0.03, 0.08, 0.15)
PAIRS = (1, 4)
DRIFTS = (0.0, 0.1)
"""Of the logarithms from the first to the last round, beside random effects of rounds of 3 %."""
CASES = tuple((pairs, drift) for pairs in PAIRS for drift in DRIFTS)
PRECISION = Precision(half_width_percent=5, min_rounds=4, max_rounds=24)
LEVEL = 1 - 0.05 * LOOK_SHARE


def campaign(drift: float, noise: str, rng: np.random.Generator) -> list[pd.Series]:
    """Goodput of the cells, each measured until it is precise; without the effects of rounds.

    Cells scatter by 1 to 15 %. Each value has an effect of its round, one of its visit, and noise.
    """
    most = PRECISION.max_rounds
    size = (CELLS, most)
    drawn = {
        "normal": lambda: rng.normal(0, 1, size),
        "heavy tails": lambda: rng.standard_t(3, size) / math.sqrt(3),
        "skewed": lambda: 1 - rng.exponential(1, size),
    }[noise]()
    scatter = rng.choice(SCATTERS, (CELLS, 1))
    of_round = rng.normal(0, 0.03, most) + drift * np.linspace(-0.5, 0.5, most)
    of_visit = rng.normal(0, 1, (CELLS // VISIT, most)).repeat(VISIT, axis=0)
    values = np.exp(of_round + scatter * (0.5 * of_visit + 0.8 * drawn))
    rows = [
        {**dict.fromkeys(CELL_KEYS, 0), CELL_KEYS[0]: cell, "round": number, "goodput_MBps": value}
        for cell, row in enumerate(values)
        for number, value in enumerate(row[: _stopped(row)])
    ]
    runs = pd.DataFrame(rows)
    runs["goodput_MBps"] = without_rounds(runs)
    by_cell = runs.set_index("round").groupby(CELL_KEYS[0])
    return [part for _, part in by_cell["goodput_MBps"]]


def _stopped(row: np.ndarray) -> int:
    most = PRECISION.max_rounds
    return next(n for n in PRECISION.looks if n == most or half_width_percent(row[:n], LEVEL) <= 5)


@dataclass(frozen=True)
class Row:
    """A row of the documentation's table."""

    pairs: int
    drift: float
    shares: dict[str, float]

    def line(self) -> str:
        """The row as Markdown."""
        shares = (f"{100 * self.shares[noise]:.1f} %" for noise in NOISES)
        return f"| {self.pairs} | {100 * self.drift:g} % | {' | '.join(shares)} |"


def covered(pairs: int, drift: float) -> Row:
    """Share of intervals of a mean ratio of so many pairs that contain the true value."""
    shares = {}
    for noise in NOISES:
        rng = np.random.default_rng(5)
        hits: list[bool] = []
        while len(hits) < STEPS:
            cells = campaign(drift, noise, rng)
            order = rng.permutation(CELLS).reshape(-1, pairs, 2)
            for step in order:
                found = mean_ratio([(cells[a], cells[b]) for a, b in step], LEVEL)
                hits.append(found.low <= 1 <= found.high)
        shares[noise] = float(np.mean(hits[:STEPS]))
    return Row(pairs, drift, shares)


HEADING = f"| pairs of cells | drift | {' | '.join(NOISES)} |"


def table() -> str:
    """The table of the documentation, as Markdown."""
    rows = [covered(*case).line() for case in CASES]
    return "\n".join([HEADING, "|---|---|" + "---|" * len(NOISES), *rows])


if __name__ == "__main__":
    print(table())
