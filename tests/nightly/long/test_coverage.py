"""Intervals have their nominal coverage, also of a study that stops early, as in the docs.

    python tests/nightly/long/test_coverage.py    # prints the tables of docs/precision.md

Cells, mean ratios and campaigns are simulated: their true goodput and true ratios are 1.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from netlab.analysis.cell_precision import FIRST_TEST, LOOK_SHARE, precise
from netlab.analysis.cells import CELL_KEYS
from netlab.analysis.intervals import Interval, log_interval
from netlab.analysis.mean_ratios import mean_ratio, without_rounds
from netlab.study.precision import Precision

PAGE = Path(__file__).parents[3] / "docs" / "precision.md"
NOISES = ("normal", "heavy tails", "skewed")
LEVEL = 1 - 0.05 * LOOK_SHARE


def noise(kind: str, rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """Normal, Student t with 3 degrees of freedom, or skewed to low values."""
    return {
        "normal": lambda: rng.normal(0, 1, size),
        "heavy tails": lambda: rng.standard_t(3, size) / math.sqrt(3),
        "skewed": lambda: 1 - rng.exponential(1, size),
    }[kind]()


def stopped(row: np.ndarray, precision: Precision) -> int:
    """Rounds after which a cell is precise, or the most there are."""
    most = precision.max_rounds
    return next(n for n in precision.looks if n == most or precise(row[:n], precision, LEVEL))


def contains(interval: Interval) -> bool:
    return interval.low <= 1 <= interval.high


def percents(shares: dict[str, float]) -> list[str]:
    return [f"{100 * shares[kind]:.1f} %" for kind in NOISES]


CELLS, FIXED_SCATTER = 4000, 0.1
ADAPTIVE = [(*rounds, at) for rounds in ((3, 12), (4, 24)) for at in (0.02, 0.05, 0.1, 0.2)]
"""Least and most rounds, scatter: the default of a study, and what openlab-2003 asks for."""
CASES = [*((rounds, rounds, FIXED_SCATTER) for rounds in (3, 4, 6, 12)), *ADAPTIVE]
CELLS_HEADING = f"| rounds | scatter | {' | '.join(NOISES)} | mean rounds |"


def simulated(rounds: int, scatter: float, kind: str, seed: int) -> np.ndarray:
    """Goodput of cells in rounds, shape (cells, rounds).

    Each value carries an effect of its round and of its block within the round, a drift over the
    order within the round, and noise; `scatter` is about the standard deviation of its logarithms.
    """
    rng, size = np.random.default_rng(seed), (CELLS, rounds)
    of_round = rng.normal(0, 0.5 * scatter, size)
    of_block = rng.normal(0, 0.5 * scatter, size)
    of_order = scatter * rng.uniform(-0.3, 0.3, size)
    return np.exp(of_round + of_block + of_order + 0.7 * scatter * noise(kind, rng, size))


def covered_cells(least: int, most: int, scatter: float) -> tuple[dict[str, float], str]:
    """Share of 95 % intervals that contain the true value under each noise; the row of the docs."""
    shares, rounds, fixed = {}, {}, least == most
    precision = Precision(half_width_percent=5, min_rounds=least, max_rounds=max(most, least + 1))
    for kind in NOISES:
        rows = simulated(most, scatter, kind, most if fixed else 7)
        took = [most if fixed else stopped(row, precision) for row in rows]
        level = () if fixed else (LEVEL,)
        hits = [
            contains(log_interval(row[:at], *level)) for row, at in zip(rows, took, strict=True)
        ]
        shares[kind], rounds[kind] = float(np.mean(hits)), float(np.mean(took))
    first, last = (str(most),) * 2 if fixed else (f"{least} to {most}", f"{rounds[NOISES[0]]:.1f}")
    return shares, f"| {' | '.join([first, f'{100 * scatter:g} %', *percents(shares), last])} |"


EARLY_CASES = [(0.02,), (0.05,), (0.1,), (0.2,)]
EARLY_HEADING = "| scatter of 3 to 12 rounds | stop after 5 | of these, contained |"


def covered_early(scatter: float) -> tuple[dict[str, float], str]:
    """Share of all normal cells whose interval contains the true value; the row of the docs."""
    precision = Precision(half_width_percent=5, min_rounds=3, max_rounds=12)
    rows = simulated(12, scatter, "normal", 7)
    took = np.array([stopped(row, precision) for row in rows])
    hits = np.array(
        [contains(log_interval(row[:at], LEVEL)) for row, at in zip(rows, took, strict=True)]
    )
    early = took == FIRST_TEST
    parts = [
        f"{100 * scatter:g} %",
        f"{100 * early.mean():.1f} %",
        f"{100 * hits[early].mean():.0f} %",
    ]
    return {"normal": float(hits.mean())}, f"| {' | '.join(parts)} |"


STEPS, CAMPAIGN_CELLS, VISIT = 600, 24, 4
"""Ratios; cells of a campaign, of which those of a visit follow each other."""
STEP_CASES = [(pairs, drift) for pairs in (1, 4) for drift in (0.0, 0.1)]
"""Drift of the logarithms from the first to the last round, beside random effects of 3 %."""
STEPS_HEADING = f"| pairs of cells | drift | {' | '.join(NOISES)} |"
PRECISION = Precision(half_width_percent=5, min_rounds=4, max_rounds=24)


def campaign(drift: float, kind: str, rng: np.random.Generator) -> list[pd.Series]:
    """Goodput of the cells, each measured until it is precise; without the effects of rounds.

    Cells scatter by 1 to 15 %. Each value has an effect of its round, one of its visit, and noise.
    """
    most = PRECISION.max_rounds
    drawn = noise(kind, rng, (CAMPAIGN_CELLS, most))
    scatter = rng.choice((0.01, 0.03, 0.08, 0.15), (CAMPAIGN_CELLS, 1))
    of_round = rng.normal(0, 0.03, most) + drift * np.linspace(-0.5, 0.5, most)
    of_visit = rng.normal(0, 1, (CAMPAIGN_CELLS // VISIT, most)).repeat(VISIT, axis=0)
    values = np.exp(of_round + scatter * (0.5 * of_visit + 0.8 * drawn))
    rows = [
        {**dict.fromkeys(CELL_KEYS, 0), CELL_KEYS[0]: cell, "round": number, "goodput_MBps": value}
        for cell, row in enumerate(values)
        for number, value in enumerate(row[: stopped(row, PRECISION)])
    ]
    runs = pd.DataFrame(rows)
    runs["goodput_MBps"] = without_rounds(runs)
    by_cell = runs.set_index("round").groupby(CELL_KEYS[0])
    return [part for _, part in by_cell["goodput_MBps"]]


def covered_steps(pairs: int, drift: float) -> tuple[dict[str, float], str]:
    """Share of intervals of a mean ratio of so many pairs that contain the true value; its row."""
    shares = {}
    for kind in NOISES:
        rng, hits = np.random.default_rng(5), []
        while len(hits) < STEPS:
            cells = campaign(drift, kind, rng)
            for step in rng.permutation(CAMPAIGN_CELLS).reshape(-1, pairs, 2):
                hits.append(contains(mean_ratio([(cells[a], cells[b]) for a, b in step], LEVEL)))
        shares[kind] = float(np.mean(hits[:STEPS]))
    return shares, f"| {' | '.join([str(pairs), f'{100 * drift:g} %', *percents(shares)])} |"


TABLES = [
    (CELLS_HEADING, covered_cells, CASES),
    (EARLY_HEADING, covered_early, EARLY_CASES),
    (STEPS_HEADING, covered_steps, STEP_CASES),
]
ROWS = [(table, at) for table in TABLES for at in range(len(table[2]))]


@pytest.mark.parametrize(("table", "at"), ROWS, ids=lambda of: getattr(of, "real", ""))
def test_intervals_have_their_nominal_coverage(table, at):
    heading, covered, cases = table
    page = PAGE.read_text(encoding="utf-8")
    text = page[page.index(heading) :].split("\n\n", 1)[0]
    _, *rows = [line for line in text.splitlines() if re.match(r"\| [\dpr]", line)]
    shares, row = covered(*cases[at])
    most = 0.985 if heading == STEPS_HEADING else 0.97 + 0.005 * (cases[at] not in CASES[:4])
    assert all(0.93 <= share <= most for share in shares.values()), row
    assert len(rows) == len(cases) and row == rows[at]


if __name__ == "__main__":
    for heading, covered, cases in TABLES:
        print("\n".join([heading, *(covered(*case)[1] for case in cases), ""]))
