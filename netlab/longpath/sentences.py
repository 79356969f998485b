"""The answer of a study of a long path in one computed sentence."""

from __future__ import annotations

import pandas as pd

from netlab.longpath.analysis import LongPath
from netlab.report.tables import Sentence


def stacks(lp: LongPath) -> Sentence:
    """The least and the greatest mean goodput of the compared stacks."""
    known = lp.compared[lp.compared["mean_Mbps"].notna()]
    if known.empty:
        return Sentence("No run left slow start, so no stack has a mean goodput.")
    least = known.loc[known["mean_Mbps"].idxmin()]
    most = known.loc[known["mean_Mbps"].idxmax()]
    return Sentence(
        f"After slow start the stacks reach {least['mean_Mbps']:.0f} Mb/s ({_stack(lp, least)}) to "
        f"{most['mean_Mbps']:.0f} Mb/s ({_stack(lp, most)}), of {lp.payload_limit_Mbps(most):.0f} "
        "Mb/s of payload that the path carries."
    )


def _stack(lp: LongPath, run: pd.Series) -> str:
    return f"{lp.stack(run.to_dict())}, {run['mtu_B']} B"
