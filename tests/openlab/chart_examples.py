"""Arguments of the wing's chart functions."""

from __future__ import annotations

from pathlib import Path

import synthetic
from charts.given import Given, given

from netlab.openlab import then_and_now
from netlab.openlab.published import claims


def examples(directory: Path) -> dict[str, Given]:
    then = then_and_now.compare(synthetic.measured())
    then = then[then["factor"] == "tuning"].head(2)
    return {
        "openlab.verdicts": given(claims.check_all()),
        "openlab.throughput_by_streams": given(2, "full"),
        "openlab.best_percent_of_bus": given(),
        "openlab.preliminary_set": given("kernel"),
        "openlab.burst_efficiency": given(),
        "openlab.before_and_after": given(),
        "openlab.windows_needed_and_given": given(),
        "openlab.recovery": given(9000),
        "openlab.ratio_forest": given(then, "a step", ["one", "two"]),
    }
