"""Claims of the article on network buffers of Solaris and Linux."""

from __future__ import annotations

from functools import cache

import pandas as pd

from netlab import published
from netlab.congestion.window_laws import IP_TCP_HEADER_B, ethernet_goodput_Mbps, mss_B
from netlab.published.claims.model import Claims, Finding, Printed, Verdict, stands
from netlab.units import KIB

CLAIMS = Claims("solaris-linux")
_MTU_B = 9000
_LINK_MBPS = 1000
# iperf prints its interval to 0.1 s.
_HALF_INTERVAL_UNIT_S = 0.05


@cache
def _phase(phase: str) -> pd.Series:
    frame = published.load("gigabit-tuning").set_index(["document", "phase"])
    return frame.loc[("solaris-linux", phase)]


@cache
def _setting(key: str) -> list[int]:
    frame = published.load("gigabit-settings").query("document == 'solaris-linux'")
    return [int(part) for part in frame.set_index("key")["value"][key].split()]


def _iperf_rate(phase: str, claimed: Printed) -> Finding:
    run = _phase(phase)
    megabits, seconds = run["transferred_B"] * 8 / 1e6, run["interval_s"]
    least = megabits / (seconds + _HALF_INTERVAL_UNIT_S)
    most = megabits / (seconds - _HALF_INTERVAL_UNIT_S)
    rate = megabits / seconds
    why = (
        f"{run['transferred_B'] / 2**20:g} x 2^20 B in {seconds:g} s, printed to 0.1 s, "
        f"is {least:.1f} to {most:.1f}"
    )
    fits = claimed.number + claimed.half_unit >= least and (
        claimed.number - claimed.half_unit <= most
    )
    return Finding(f"{rate:.1f} Mb/s", Verdict.ROUNDS if fits else Verdict.CONTRADICTED, why)


@CLAIMS("ENV", "Data transferred by iperf", "900Mb")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        _phase("before")["transferred_B"] * 8 / 1e6,
        "iperf was asked for, and prints, 900 MBytes; Mb is read as megabits",
        unit="Mb",
    )


@CLAIMS("Before Tuning", "Bandwidth of 900 MBytes in 19.3 s", "390 Mbits/sec")
def _(claimed: Printed) -> Finding:
    return _iperf_rate("before", claimed)


@CLAIMS("After Tuning", "Bandwidth of 900 MBytes in 7.9 s", "955 Mbits/sec")
def _(claimed: Printed) -> Finding:
    return _iperf_rate("after", claimed)


@CLAIMS("After Tuning", "The bandwidth is", "more than doubled")
def _(claimed: Printed) -> Finding:
    ratio = _phase("after")["rate_Mbps"] / _phase("before")["rate_Mbps"]
    return stands(ratio > 2, f"{ratio:.2f} times", "after over before")


@CLAIMS("After Tuning", "The rate is one gigabit Ethernet can carry", "955 Mbits/sec")
def _(claimed: Printed) -> Finding:
    most = ethernet_goodput_Mbps(_LINK_MBPS, _MTU_B)
    return stands(
        claimed.number <= most,
        f"at most {most:.1f} Mb/s",
        f"1000 Mb/s at MTU {_MTU_B}, frame overhead and timestamps taken off",
    )


@CLAIMS("Before Tuning", "The MSS is as expected of an MTU of 9000", "8948 bytes")
def _(claimed: Printed) -> Finding:
    return claimed.against(mss_B(_MTU_B), "9000 less 40 of headers and 12 of timestamps", unit="B")


@CLAIMS("Before Tuning", "The MTU iperf prints", "8988 bytes")
def _(claimed: Printed) -> Finding:
    guessed = int(_phase("before")["mss_B"]) + IP_TCP_HEADER_B
    return claimed.against(
        _MTU_B,
        f"The interfaces were set to 9000; iperf adds 40 to the MSS ({guessed}) and misses the "
        "timestamps",
        unit="B",
    )


@CLAIMS("After Tuning", "Default window on Solaris is the tcp_recv_hiwat set", "960 KByte")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        _setting("tcp_recv_hiwat")[0] / KIB, "tcp_recv_hiwat over 2^10", unit="KiB"
    )


@CLAIMS("After Tuning", "Default window on Linux is the tcp_wmem set", "192 KByte")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        _setting("net.ipv4.tcp_wmem")[1] / KIB, "second value of tcp_wmem over 2^10", unit="KiB"
    )
