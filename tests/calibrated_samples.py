"""A made-up calibration of all parts, stored as ``netlab calibrate`` stores it."""

from __future__ import annotations

import json
from pathlib import Path

from netlab.files.dated import new_directory

MACHINE = {"cpu_model": "Some CPU", "cpus": 2, "kernel": "6.1.9"}
RATE = {
    **{"expected_MBps": 11.95, "goodput_MBps": 11.94, "error_percent": -0.01},
    **{"least_percent": -0.2, "greatest_percent": 0.1, "within_percent": 0.5, "verdict": "within"},
}
CELLS = [
    {"rate_Mbps": 100.0, "mtu_B": 1500, **RATE},
    {"rate_Mbps": 100.0, "mtu_B": 9000, **RATE, "error_percent": 0.02},
    {"rate_Mbps": 10000.0, "mtu_B": 1500, **RATE, "within_percent": 1.0},
    {
        **{"rate_Mbps": 10000.0, "mtu_B": 9000, **RATE, "within_percent": 1.0},
        **{"error_percent": -1.62, "least_percent": -2.5, "verdict": "outside"},
    },
]
ROUND_TRIPS = [
    {
        **{"rtt_ms": rtt_ms, "load": load, "mean_ms": rtt_ms + 0.06, "deviation_us": 60.0 + more},
        **{"least_us": 53.0, "greatest_us": 115.0, "bound_us": 200.0, "verdict": "within"},
    }
    for rtt_ms in (0.5, 20.0)
    for load, more in (("idle", 0.0), ("500 Mb/s", 20.0))
]
EMULATOR = {
    "round_trips": ROUND_TRIPS,
    "rates": [{"rate_Mbps": 2500.0, "rtt_ms": 183.2, "mtu_B": 9000, **RATE}],
}
PARTS = {"cells": CELLS, "emulator": EMULATOR}


def store_calibration(
    directory: Path, day: int = 5, machine: dict | None = None, **parts: object
) -> Path:
    """Store a run of some parts; returns its document."""
    started_at = f"2026-01-{day:02}T10:00:00Z"
    content = {"netlab_calibration": 3, "started_at": started_at, "netlab": "0.1.0"}
    content["machine"] = MACHINE if machine is None else machine
    file = new_directory(directory, started_at) / "calibration.json"
    file.write_text(json.dumps(content | (parts or PARTS)))
    return file
