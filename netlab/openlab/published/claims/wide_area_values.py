"""Values from the wide-area page: the transfer, the windows, the path."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd

from netlab.openlab import published
from netlab.openlab.published.claims.claim import CheckResult, PrintedValue, Verdict, frame_of

# A single-sided single-layer 120 mm disc (type A): 4.7 Gbytes (Standard ECMA-267, 2001).
DVD_CAPACITY_B = 4.7e9


def rapid(quantity: str) -> float:
    """A number that rapid was given or printed."""
    return frame_of("slac-2003-rapid").set_index("quantity")["value"][quantity]


def elapsed_s() -> float:
    """Stop less start of the transfer, s."""
    # Printed to 1 ms at an epoch of 1e9 s; the difference of two floats is rounded back to that.
    return round(rapid("stop") - rapid("start"), 3)


def rate_Mbps() -> float:
    """Amount over time of the transfer, Mb/s."""
    return rapid("amount") * 8 / elapsed_s() / 1e6


def sndbufs_B() -> list[int]:
    """Every ``sndbuf`` of wad.conf, bytes."""
    return [int(size) for size in frame_of("slac-2003")["wad_sndbuf_B"].dropna()]


def receiver_setting(key: str) -> int:
    settings = frame_of("slac-2003-settings").query("host == 'receiver'")
    return int(settings.set_index("key")["value"][key])


def ping_ms(site: str, statistic: str) -> float:
    """A statistic that ping printed, ms."""
    shown = frame_of("slac-2003-path").query("tool == 'ping' and from_site == @site")
    return float(shown.set_index("statistic")["rtt_ms"][statistic])


def _hops_ms(site: str) -> pd.Series:
    """Least round-trip time of each hop, ms."""
    shown = frame_of("slac-2003-path").query("tool == 'traceroute' and from_site == @site")
    return shown.groupby("number")["rtt_ms"].min()


def hop_ms(site: str, hop: int) -> float:
    """Least round-trip time to one hop of the traceroute, ms."""
    return float(_hops_ms(site)[hop])


def routers(site: str) -> int:
    """Number of routers that the traceroute passes."""
    return int(_hops_ms(site).index.max()) - 1


def bigger_memory(printed: PrintedValue) -> CheckResult:
    """Compare the tcp memory settings of the left plot with those of the right one."""
    rows = frame_of("slac-2003").set_index("place")
    left, right = (
        rows.loc[f"tcp memory comparison, plot on the {side}", ["tcp_rmem", "tcp_wmem", "tcp_mem"]]
        for side in ("left", "right")
    )
    pairs = [
        (key, int(a), int(b))
        for key in left.index
        for a, b in zip(left[key].split(), right[key].split(), strict=True)
    ]
    smaller = [f"{key} {a} to {b}" for key, a, b in pairs if a < b]
    bigger = sum(a > b for _, a, b in pairs)
    return CheckResult(
        f"{bigger} of {len(pairs)} {printed.text}",
        Verdict.CONTRADICTED if smaller else Verdict.HOLDS,
        f"Smaller: {'; '.join(smaller)}" if smaller else "The rest are equal",
    )


def average_of_replies(site: str, printed: PrintedValue) -> CheckResult:
    """Compare a printed average with the mean of the replies, each cut to its last digit."""
    frame = frame_of("slac-2003-path")
    chosen = frame.query("tool == 'ping' and from_site == @site and statistic == 'sample'")
    mean = chosen["rtt_ms"].mean()
    texts = published.read_raw("slac-2003-path").loc[chosen.index, "rtt"]
    unit = 10.0 ** -max(len(text.partition(".")[2]) for text in texts)
    return CheckResult(
        f"{mean:g} to {mean + unit:g} ms",
        Verdict.HOLDS if mean <= printed.number < mean + unit else Verdict.CONTRADICTED,
        f"Mean of {len(chosen)} replies, each cut to {unit:g} ms",
    )


def date_shown() -> CheckResult:
    """Compare the date on the page with the stop time of the transfer."""
    shown = datetime(2003, 3, 3, 6, 11, 44, tzinfo=UTC)
    stop = datetime.fromtimestamp(rapid("stop"), UTC)
    minutes = (shown - stop).total_seconds() / 60
    return CheckResult(
        f"{stop:%Y-%m-%d %H:%M:%S} UTC",
        Verdict.HOLDS if 0 < minutes < 60 else Verdict.CONTRADICTED,
        f"rapid's stop time is {minutes:.1f} min before Sun Mar 2 22:11:44 PST 2003",
    )
