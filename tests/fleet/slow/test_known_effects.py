"""Known effects of generated stores are found."""

from __future__ import annotations

import pytest
from fleet.slow import stores_campaign
from scipy.stats import binom

SIZE = stores_campaign.Size(studies=1, stores=5, rounds=10)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports of all steps for 10^3 runs and 10^6 samples."""
    directory = tmp_path_factory.mktemp("campaign")
    return {name: stores_campaign.step(name, directory, SIZE) for name in stores_campaign.STEPS}


def test_every_run_counts_once_and_known_effects_lie_in_intervals_as_often_as_they_state(reports):
    assert reports["cells-all"]["runs"] == 1000
    assert reports["samples-all"]["cells"] == 100
    cells = reports["cells-all"]["cells"]
    assert cells == 100
    least, most = binom.ppf([1e-4, 1 - 1e-4], cells, 0.95)
    assert least <= reports["cells-all"]["within_percent"] / 100 * cells <= most
    for name, ratio in (("compare-tunings", 1.5), ("compare-mtus", 1.25)):
        assert reports[name]["verdicts"] == {"faster": 50}
        assert reports[name]["overall"] == pytest.approx(ratio, rel=0.02)
    assert not {"faster", "slower"} & set(reports["compare-equals"]["verdicts"])
    assert reports["samples-all"]["median_off_percent"] < 2
