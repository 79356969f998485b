"""Made-up samples of an emulator's calibration."""

from netlab.qualify.calibrated.emulator_cells import EmulatedRate, RoundTrip


def pinged(cell: RoundTrip, off_us: float, flags: str = "", **more: object) -> dict:
    """A round trip with a mean of `off_us` above the configured time."""
    return {
        **cell.key,
        "pings": 41,
        "mean_ms": cell.rtt_ms + off_us / 1e3,
        "mdev_ms": 0.05,
        "goodput_MBps": cell.load.paced_Mbps / 8 if cell.load.paced_Mbps else None,
        "emulator_late_us": 10.0,
        "flags": flags,
        **more,
    }


def filled(cell: EmulatedRate, percent_off: float, flags: str = "", **more: object) -> dict:
    """A rate with a goodput of `percent_off` above the expected one."""
    return {
        **cell.key,
        "goodput_MBps": cell.expected_MBps * (1 + percent_off / 100),
        "emulator_late_us": 10.0,
        "flags": flags,
        **more,
    }
