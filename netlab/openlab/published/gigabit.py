"""Measurements and settings of two articles on tuning gigabit hosts."""

from __future__ import annotations

import pandas as pd

from netlab.units import KIB, MIB

_SETTING = {
    ("solaris-linux", "before"): "defaults, MTU 9000",
    ("solaris-linux", "after"): "larger buffers at both ends, MTU 9000",
    ("gigabit-nic", "before"): "defaults",
    ("gigabit-nic", "after"): "larger windows and buffers",
}


def tuning(raw: pd.DataFrame) -> pd.DataFrame:
    """Before and after of both articles as numbers; missing where none is printed."""
    return raw.assign(
        **{key: raw[key].mask(raw[key] == "") for key in ("sender", "receiver")},
        setting=[_SETTING[key] for key in zip(raw["document"], raw["phase"], strict=True)],
        rate_Mbps=_number(raw["rate"], r"(\d+) Mb(?:its/sec|/s)$"),
        transferred_B=_number(raw["transferred"], r"^(\d+) MBytes$") * MIB,
        interval_s=_number(raw["interval"], r"- ?([\d.]+) sec$"),
        sender_window_B=_number(raw["sender_window"], r"^([\d.]+) KByte$") * KIB,
        receiver_window_B=_number(raw["receiver_window"], r"^([\d.]+) KByte$") * KIB,
        mss_B=_number(raw["mss"], r"^(\d+) bytes$"),
        mtu_B=_number(raw["mtu"], r"^(\d+) bytes?$"),
    )


def _number(text: pd.Series, pattern: str) -> pd.Series:
    return text.str.extract(pattern)[0].astype(float)
