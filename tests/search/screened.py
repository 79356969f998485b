"""A screen that was never measured: hosts, probe, runs and confirmation from memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
from lab_study import lab_study

from netlab.search.screen.design import design
from netlab.search.screen.effects import knob_effects, least_set
from netlab.search.screen.probe import Probed
from netlab.search.screen.record import FULL_TUNING, LEAST_TUNING, Confirmation, ScreenRecord
from netlab.search.screen.request import ScreenRequest
from netlab.search.screen.run import confirmation
from netlab.search.screen.written import record_of
from netlab.study import Study

SYSCTLS = ("tcp_rmem", "tcp_wmem", "tcp_sack", "tcp_timestamps", "tcp_retries2", "tcp_ecn")
CHOICE = {
    "parameter": "RxIntDelay",
    "published": "64",
    "first_supported": [{"knobs": [{"kind": "coalesce", "name": "rx-usecs", "value": "52"}]}],
}


def screened_study(**keys) -> Study:
    """Two lab hosts, and a tuning ``mine`` of six sysctls, a ring size and a choice."""
    knobs = [
        {"kind": "sysctl", "name": f"net.ipv4.{name}", "value": "1", "source": f"paper, {name}"}
        for name in SYSCTLS
    ]
    knobs += [{"kind": "ring", "name": "rx", "value": "4096"}, CHOICE]
    tunings = [{"name": "mine", "mtus_B": [9000, 1500], "knobs": knobs}]
    content = lab_study().model_dump(mode="json") | {"tunings": tunings} | keys
    return Study.model_validate(content)


def rows_measured(levels: dict[str, float], rounds: int, seed: int = 1) -> pd.DataFrame:
    """Runs of some rows at given goodputs, 1 % from run to run."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "tuning": name,
            "round": number,
            "goodput_MBps": goodput * np.exp(0.01 * rng.standard_normal()),
            "flags": "",
            "unsupported": "[]",
            **{"group": "only", "path": "a-b", "sender": "a", "direction": "->", "streams": 1},
            **{"mtu_B": 9000, "factors": "", "congestion": "cubic", "generator": "netlab"},
            **{"engine": "blocking", "record_length_B": 65536, "buffer_B": 0},
            **{"receive_buffer_B": None, "records": None, "campaign": "one"},
            **{"run_id": f"{name}@{number}", "started_at": pd.Timestamp(2026, 1, number, tz="UTC")},
        }
        for number in range(1, rounds + 1)
        for name, goodput in levels.items()
    ]
    return pd.DataFrame(rows)


def screened(
    *, least_MBps: float = 1000.0, kind: str = "folded", empty: bool = False
) -> ScreenRecord:
    """A screen of ``mine`` in which receive and send buffer double the goodput, each."""
    ask = ScreenRequest(screened_study(), "mine")
    names = tuple(f"net.ipv4.{name}" for name in SYSCTLS)
    plan = design(names, kind)
    levels = {
        row: 250.0 * 2 ** len(set(chosen) & {*names[:2]}) for row, chosen in plan.rows.items()
    }
    runs = rows_measured(levels, 4)
    runs.loc[runs["tuning"] == "all-knobs", "unsupported"] = (
        '[{"host": "a", "knob": "net.ipv4.tcp_ecn", "reason": "no such sysctl"}]'
    )
    effects = knob_effects(runs, plan)
    sides = {FULL_TUNING: 1000.0, LEAST_TUNING: least_MBps, "no-knob": 250.0}
    tried = confirmation(rows_measured(sides, 5), ask, 0.95)
    probed = Probed(
        names,
        ({"host": "a", "knob": "ring rx", "reason": "the device has no ring sizes to set"},),
        ({"host": "b", "knob": "ring rx", "value": "4096"},),
    )
    tries = () if empty else (Confirmation(least_set(effects), tried),)
    return record_of(ask, probed, plan, effects, tries, runs)


def found_knobs(frame: pd.DataFrame) -> tuple[str, ...]:
    """Knobs with an effect of their own, faster or slower, in the order of the design."""
    found = frame["verdict"].isin(("faster", "slower")) & (frame["with_knob"] == "")
    return tuple(frame.loc[found, "knob"])
