"""Arguments of the wing's chart functions."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from charts.given import Given, given


def examples(directory: Path) -> dict[str, Given]:
    bench = {"mode": "same", "offloads": "on", "mtu_B": 1500, "streams": 1, "other": "plain"}
    bench |= {"against": "plain", "ratio": 1.2, "low": 1.1, "high": 1.3, "verdict": "faster"}
    return {"qualify.ratio_panels": given(pd.DataFrame([bench]))}
