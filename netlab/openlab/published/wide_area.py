"""The wide-area tests from Sunnyvale to Geneva, March 2003, as frames."""

from __future__ import annotations

import pandas as pd

from netlab.openlab.published.printed_files import read_raw
from netlab.units import MIB

STACK_OF_NAME = {
    "Fast TCP": "FAST",
    "Stock": "Reno",
    "Scalable": "Scalable",
    "HSTCP": "HighSpeed",
    "HS TCP": "HighSpeed",
}


def configurations(raw: pd.DataFrame) -> pd.DataFrame:
    """Configurations shown on the page, with the path they share."""
    averages = path(read_raw("slac-2003-path")).query("statistic == 'avg'")
    rtt_ms = averages.set_index("from_site")["rtt_ms"]
    transfer = rapid(read_raw("slac-2003-rapid")).set_index("quantity")["value"]
    return pd.DataFrame(
        {
            "place": raw["place"],
            "stack": raw["stack"].map(STACK_OF_NAME),
            "mtu_B": _whole(raw["mtu"].str.removesuffix("B")),
            "txqueuelen": _whole(raw["txqueuelen"]),
            "sender_window_B": _whole(raw["sender_window"].str.extract(r"^(\d+) ?M$")[0]) * MIB,
            "receiver_window_B": _whole(raw["receiver_window"].str.extract(r"^(\d+) ?M$")[0]) * MIB,
            **{key: raw[key].mask(raw[key] == "") for key in ("tcp_rmem", "tcp_wmem", "tcp_mem")},
            "tcp_wmem_max_B": _whole(raw["tcp_wmem"].str.split().str[-1]),
            "wad_sndbuf_B": _whole(raw["wad_sndbuf"]),
            "wad_rcvbuf_B": _whole(raw["wad_rcvbuf"]),
            "rtt_ms": rtt_ms["GVA"],
            "rtt_near_ms": rtt_ms["SNV"],
            "bottleneck_Mbps": transfer["bottleneck"] * 1000,
        }
    )


def path(raw: pd.DataFrame) -> pd.DataFrame:
    """Every printed round-trip time of ping and traceroute, in ms."""
    return raw.assign(number=_whole(raw["number"]), rtt_ms=raw["rtt"].astype(float))


def rapid(raw: pd.DataFrame) -> pd.DataFrame:
    """Arguments and output of rapid, and the stated limit of the link."""
    return raw.assign(value=raw["printed"].astype(float))


def _whole(text: pd.Series) -> pd.Series:
    return pd.to_numeric(text.mask(text == "")).astype("Int64")
