"""The two openlab documents of 2003: the report and the preliminary notes."""

from __future__ import annotations

import pandas as pd

from netlab.bus import PCI_X_100, PCI_X_133

TUNING_OF_HEADING = {"No Tuning": "none", "+ Kernel Tuning": "kernel", "+ Driver Tuning": "full"}
TUNING_OF_PROFILE = {
    "openlab-2003-normal": "none",
    "openlab-2003-kernel": "kernel",
    "openlab-2003-kernel-linux32": "kernel",
    "openlab-2003-full": "full",
    "openlab-2003-full-linux32": "full",
}
"""Published tuning that each of netlab's tunings of 2003 repeats."""

TUNING_OF_SET = {"1": "none", "2": "kernel", "3": "full"}
BUS_OF_HOST_MBPS = {"Linux64": PCI_X_133.bandwidth_MBps, "Linux32": PCI_X_100.bandwidth_MBps}


def report(raw: pd.DataFrame) -> pd.DataFrame:
    """Tables 1 to 6 of the report as numbers, with the bus of each pair of hosts."""
    hosts = raw["test"].str.extract(r"^(?P<sender>\w+) (?P<direction><?->) (?P<receiver>\w+)$")
    tidy = hosts.assign(
        table=raw["table"].astype(int),
        tuning=raw["tuning"].map(TUNING_OF_HEADING),
        mtu_B=raw["mtu"].str.removesuffix("B").astype(int),
        streams=raw["streams"].str.extract(r"^(\d+) Streams?$")[0].astype(int),
        throughput_MBps=raw["throughput"].astype(float),
    )
    buses = pd.DataFrame({end: tidy[end].map(BUS_OF_HOST_MBPS) for end in ("sender", "receiver")})
    tidy["bus_MBps"] = buses.min(axis=1)
    tidy["percent_of_bus"] = 100 * tidy["throughput_MBps"] / tidy["bus_MBps"]
    return tidy


def preliminary(raw: pd.DataFrame) -> pd.DataFrame:
    """Sets 1 to 3 of the preliminary notes as numbers."""
    cell = raw["cell"].str.extract(
        r"^(?:(?P<times>\d+)x)?(?P<each>\d+) ?MB/s(?: ?\(tot:(?P<total>\d+)\))?$"
    )
    each, total = cell["each"].astype(float), cell["total"].astype(float)
    return pd.DataFrame(
        {
            "tuning": raw["set"].map(TUNING_OF_SET),
            "mtu_B": raw["mtu"].astype(int),
            "streams": raw["streams"].str.extract(r"^(\d+) Streams?$")[0].astype(int),
            "per_stream_MBps": each,
            "stated_total_MBps": total,
            "throughput_MBps": total.fillna(each),
        }
    )
