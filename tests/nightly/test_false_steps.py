"""False alarms of the test for a burst within a run: below 1 in 200 of steady runs."""

from __future__ import annotations

import numpy as np
import pytest

from netlab.measure.steadiness import step_of

SERIES = 2000
INTERVALS = (10, 20, 50, 200)
MOST_FALSE = 1 / 200


def correlated(rng, n: int, sd: float, alike: float) -> np.ndarray:
    """Lognormal rates about 1 whose neighbours correlate."""
    logs = rng.normal(0, sd, n)
    for i in range(1, n):
        logs[i] = alike * logs[i - 1] + np.sqrt(1 - alike**2) * logs[i]
    return np.exp(logs)


def window(rng, n: int, loss: float, factor: float, packets: float) -> np.ndarray:
    """Rates of a window that grows by a packet a round trip and shrinks at random losses."""
    w, rates = np.sqrt(1.5 / loss), np.empty(n)
    for i in range(n):
        rounds = np.empty(4)
        for j in range(4):
            w = max(1.0, w * factor) if rng.random() < 1 - (1 - loss) ** w else w + packets
            rounds[j] = w
        rates[i] = rounds.mean()
    return rates


def slow_start(rng, n: int) -> np.ndarray:
    """A window that doubles until the link is full, overflows its queue, and goes on steadily."""
    rounds = int(rng.integers(3, max(4, n // 2)))
    rates = np.minimum(1.0, 2.0 ** (np.arange(n) - rounds)) * np.exp(rng.normal(0, 0.05, n))
    if rng.random() < 0.5:
        rates[rounds : rounds + int(rng.integers(1, 4))] *= rng.random()
    return rates


def moved(rng, n: int) -> np.ndarray:
    """Rates of two threads that a scheduler moves to one CPU at some time: 0.5 to 0.9 of before.

    A lab's stream of one thread did so in 2 of 129 runs, from 1,210 to 800 MB/s.
    """
    rates = np.exp(rng.normal(0, 0.02, n))
    rates[int(rng.integers(1, n)) :] *= rng.uniform(0.5, 0.9)
    return rates


MODELS = {
    "independent, 5 %": (lambda rng, n: correlated(rng, n, 0.05, 0.0), False),
    "independent, 30 %": (lambda rng, n: correlated(rng, n, 0.3, 0.0), False),
    "AR 0.6, 30 %": (lambda rng, n: correlated(rng, n, 0.3, 0.6), False),
    "AR 0.9, 20 %": (lambda rng, n: correlated(rng, n, 0.2, 0.9), False),
    "AR 0.9, 50 %, with losses": (lambda rng, n: correlated(rng, n, 0.5, 0.9), True),
    "Reno, loss 0.1 %": (lambda rng, n: window(rng, n, 1e-3, 0.5, 1.0), True),
    "Reno, loss 0.01 %": (lambda rng, n: window(rng, n, 1e-4, 0.5, 1.0), True),
    "CUBIC's fall, loss 0.1 %": (lambda rng, n: window(rng, n, 1e-3, 0.7, 0.5), True),
    "slow start": (slow_start, True),
    "threads moved to one CPU": (moved, True),
}


def false_alarms(name: str, n: int) -> float:
    rates, halved = MODELS[name]
    rng, lengths_s = np.random.default_rng(5), np.full(n, 0.04)
    found = (step_of(1e6 * rates(rng, n), lengths_s, halved=halved) for _ in range(SERIES))
    return sum(step is not None for step in found) / SERIES


@pytest.mark.parametrize("n", INTERVALS)
@pytest.mark.parametrize("name", MODELS)
def test_a_steady_run_is_called_unsteady_in_fewer_than_one_of_two_hundred(name, n):
    assert false_alarms(name, n) < MOST_FALSE
