"""Values from the two articles on gigabit hosts."""

from __future__ import annotations

from functools import cache

import pandas as pd

from netlab import published
from netlab.published.claims.model import CheckResult, PrintedValue, Verdict

# iperf prints its interval to 0.1 s.
_HALF_INTERVAL_UNIT_S = 0.05


@cache
def _tuning() -> pd.DataFrame:
    return published.load("gigabit-tuning").set_index(["document", "phase"])


def measured(document: str, phase: str, column: str) -> float:
    """A number printed before or after tuning, such as ``rate_Mbps``."""
    return float(_tuning().loc[(document, phase), column])


def solaris_linux_setting(key: str) -> list[int]:
    """The numbers of a setting of that article."""
    frame = published.load("gigabit-settings").query("document == 'solaris-linux'")
    return [int(part) for part in frame.set_index("key")["value"][key].split()]


def iperf_rate(phase: str, printed: PrintedValue) -> CheckResult:
    """Compare a bandwidth that iperf printed with its amount over its rounded interval."""
    run = _tuning().loc[("solaris-linux", phase)]
    megabits, seconds = run["transferred_B"] * 8 / 1e6, run["interval_s"]
    least = megabits / (seconds + _HALF_INTERVAL_UNIT_S)
    most = megabits / (seconds - _HALF_INTERVAL_UNIT_S)
    low, high = printed.number - printed.half_unit, printed.number + printed.half_unit
    return CheckResult(
        f"{megabits / seconds:.1f} Mb/s",
        Verdict.ROUNDS if high >= least and low <= most else Verdict.CONTRADICTED,
        f"{run['transferred_B'] / 2**20:g} x 2^20 B in {seconds:g} s, printed to 0.1 s, "
        f"is {least:.1f} to {most:.1f}",
    )


FUNCTIONS = (iperf_rate, measured, solaris_linux_setting)
NAMES = {function.__name__: function for function in FUNCTIONS}
"""Names for the expressions of the claims."""
