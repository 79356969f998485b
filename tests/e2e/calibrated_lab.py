"""A calibration on a lab."""

import subprocess
from pathlib import Path

from e2e.conftest import run_netlab, stored


def calibrated(place: Path) -> tuple[dict, subprocess.CompletedProcess]:
    """The document of a calibration of one cell, and the command that made it."""
    # A large segment let out whole, 58 ms of this rate, would put such a window 2 % off at least.
    rate = ("--rate", "10", "--mtu", "576", "--seconds", "0.8", "--repeats", "1")
    done = run_netlab("calibrate", "--quick", *rate, "--rtt", "10", "--out", str(place))
    return stored(place, "calibration.json"), done
