"""Settings of an emulated link, each measured by a study whose truth is known."""

from __future__ import annotations

import pandas as pd
import yaml

import netlab
from tests.e2e.conftest import ANY_NOISE, run_netlab

PAYLOAD = 1448 / 1514
"""Of a full frame of TCP."""


def measured(tmp_path, emulator: dict, groups: list[dict], **keys) -> pd.DataFrame:
    """The runs of a study of one emulated path."""
    ends = [{"host": "left"}, {"host": "right"}]
    content = {
        **{"netlab": 1, "name": "emulated", "title": "An emulated link"},
        "hosts": {"left": {"kind": "lab"}, "right": {"kind": "lab"}},
        "paths": {"slow": {"ends": ends, "link": {"emulator": emulator}}},
        "groups": [{"path": "slow", "sender": "left", **group} for group in groups],
        **{"streams": [1], "noise": ANY_NOISE},
        "timing": {"rounds": 1, "seconds": 2, "warmup_s": 1, "drain_s": 30},
        **keys,
    }
    file = tmp_path / "study.yml"
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    run_netlab("run", str(file), "--results", str(tmp_path / "r"), timeout_s=300)
    return netlab.Results(tmp_path / "r").runs


def test_each_direction_has_its_own_rate_loss_and_delay(tmp_path, machine_untouched):
    """TCP meets its direction's rate; of datagrams one direction loses a fifth, the other none."""
    emulator = {"rtt_ms": 20, "rate_Mbps": 40, "reverse": {"delay_ms": 2}}
    rates = {"factors": {"reverse_rate_Mbps": [8, 16]}}
    lossy = {
        **{"generator": "udp", "record_length_B": 1000},
        "factors": {"reverse_loss": [0.2], "pacing_MBps": [1]},
    }
    groups = [
        {"name": "there", **rates},
        {"name": "back", "sender": "right", **rates},
        {"name": "datagrams there", **lossy},
        {"name": "datagrams back", "sender": "right", **lossy},
    ]
    runs = measured(tmp_path, emulator, groups)
    of = dict(iter(runs.groupby("group")))
    for name, rates_Mbps in (("there", (40, 40)), ("back", (8, 16))):
        levels = of[name].sort_values("reverse_rate_Mbps").to_dict("records")
        for run, rate_Mbps in zip(levels, rates_Mbps, strict=True):
            limit_MBps = rate_Mbps / 8 * PAYLOAD
            assert run["link_MBps"] == rate_Mbps / 8
            assert 0.8 * limit_MBps < run["goodput_MBps"] < 1.02 * limit_MBps
            assert run["path_rtt_us"] == 20_000
    (there,), (back,) = (of[f"datagrams {name}"].to_dict("records") for name in ("there", "back"))
    # 3,000 datagrams: standard deviation 0.7 %
    assert there["lost_percent"] == 0 and 17 < back["lost_percent"] < 23
