"""TCP congestion control: window laws, and the choice of an implementation on a host."""

from __future__ import annotations

from netlab.congestion.choice import OWN_LAWS, CcChoice, choose
from netlab.congestion.window_laws import (
    ETHERNET_FRAME_B,
    HIGHSPEED,
    IP_TCP_HEADER_B,
    LAWS,
    RENO,
    SCALABLE,
    TIMESTAMP_OPTION_B,
    WindowLaw,
    bdp_B,
    ethernet_goodput_Mbps,
    mss_B,
    window_limit_Mbps,
)

__all__ = [
    "ETHERNET_FRAME_B",
    "HIGHSPEED",
    "IP_TCP_HEADER_B",
    "LAWS",
    "OWN_LAWS",
    "RENO",
    "SCALABLE",
    "TIMESTAMP_OPTION_B",
    "CcChoice",
    "WindowLaw",
    "bdp_B",
    "choose",
    "ethernet_goodput_Mbps",
    "mss_B",
    "window_limit_Mbps",
]
