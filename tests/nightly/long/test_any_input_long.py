"""The readers of tests/test_any_input.py, each for two minutes on a seed of the day."""

import time

import any_input
import pytest

SECONDS = 120


@pytest.mark.timeout(SECONDS + 120)
@pytest.mark.parametrize("reader", any_input.READERS)
def test_no_bytes_break_a_reader(reader):
    seed = int(time.time()) // 86400
    tried, broken = any_input.run(reader, SECONDS, seed)
    assert broken == [], f"{tried} inputs, seed {seed}"
