"""Claims of the wide-area page: the transfer, the windows, the path."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

import pandas as pd

from netlab import published
from netlab.congestion.window_laws import window_limit_Mbps
from netlab.published.claims.model import Claims, Finding, Printed, stands, uncheckable
from netlab.units import GIB, MIB

CLAIMS = Claims("slac")

# A single-sided single-layer 120 mm disc (type A): 4.7 Gbytes (Standard ECMA-267, 2001).
DVD_CAPACITY_B = 4.7e9


@cache
def _rapid() -> dict[str, float]:
    frame = published.load("slac-2003-rapid")
    return dict(zip(frame["quantity"], frame["value"], strict=True))


@cache
def _configurations() -> pd.DataFrame:
    return published.load("slac-2003")


def _ping(site: str) -> pd.Series:
    frame = published.load("slac-2003-path")
    chosen = (frame["tool"] == "ping") & (frame["from_site"] == site)
    summary = frame[chosen & (frame["statistic"] != "sample")]
    return summary.set_index("statistic")["rtt_ms"]


def _hops(site: str) -> pd.Series:
    """Least round-trip time of each hop, ms."""
    frame = published.load("slac-2003-path")
    chosen = (frame["tool"] == "traceroute") & (frame["from_site"] == site)
    return frame[chosen].groupby("number")["rtt_ms"].min()


def _elapsed_s() -> float:
    # Printed to 1 ms at an epoch of 1e9 s; the difference of two floats is rounded back to that.
    return round(_rapid()["stop"] - _rapid()["start"], 3)


@CLAIMS("General settings", "Sender window 40 M is the sndbuf of wad.conf", "40 M")
def _(claimed: Printed) -> Finding:
    least = int(_configurations()["wad_sndbuf_B"].min())
    return claimed.against(least / MIB, f"sndbuf {least} B over 2^20", unit="MiB")


@CLAIMS("HS TCP, plot 1", "wad.conf sndbuf 134217728 is the receiver's window", "128M")
def _(claimed: Printed) -> Finding:
    most = int(_configurations()["wad_sndbuf_B"].max())
    return claimed.against(most / MIB, f"sndbuf {most} B over 2^20", unit="MiB")


@CLAIMS("General settings", "Receiver window 128 M is what its rmem_max allows", "128 M")
def _(claimed: Printed) -> Finding:
    settings = published.load("slac-2003-settings").query("host == 'receiver'")
    limit = int(settings.set_index("key")["value"]["net.core.rmem_max"])
    return claimed.against(
        limit / 1e6,
        f"rmem_max in 10^6 B; counted in 2^20 as the sender's, it is only {limit / MIB:.1f}",
        unit="MB",
    )


@CLAIMS("tcp memory comparison", "The left plot has bigger tcp memory values", "bigger")
def _(claimed: Printed) -> Finding:
    rows = _configurations().set_index("place")
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
    return stands(
        not smaller,
        f"{bigger} of {len(pairs)} bigger",
        f"Smaller: {'; '.join(smaller)}" if smaller else "The rest are equal",
    )


@CLAIMS("Jumbo frames", "FAST with settings B is this much lower", "ten times lower")
def _(claimed: Printed) -> Finding:
    return uncheckable("The plots' numbers are not in the text")


@CLAIMS("Testbed", "The link is limited to", "2.5 Gbps")
def _(claimed: Printed) -> Finding:
    rate = _rapid()["amount"] * 8 / _elapsed_s() / 1e9
    return stands(
        rate < claimed.number,
        f"{rate:.3f} Gb/s carried",
        f"rapid stays below it, at {100 * rate / claimed.number:.0f} %",
    )


@CLAIMS("rapid", "Amount transferred: 1000 records of 16388608 bytes", "16388608000.0 bytes")
def _(claimed: Printed) -> Finding:
    return claimed.against(_rapid()["records"] * _rapid()["record_length"], "-n times -l", unit="B")


@CLAIMS("rapid", "Total time", "59.991 s")
def _(claimed: Printed) -> Finding:
    return claimed.against(_elapsed_s(), "stop less start", unit="s")


@CLAIMS("rapid", "Running for", "1 minute")
def _(claimed: Printed) -> Finding:
    return claimed.against(_elapsed_s() / 60, "stop less start", unit="min")


@CLAIMS("rapid", "Throughput", "2185.476 megabits/sec")
def _(claimed: Printed) -> Finding:
    return claimed.against(
        _rapid()["amount"] * 8 / _elapsed_s() / 1e6, "amount over time", unit="Mb/s"
    )


@CLAIMS("rapid", "Throughput with a sender buffer of 42543040 bytes", "2185.476 megabits/sec")
def _(claimed: Printed) -> Finding:
    rtt_ms = _ping("GVA")["avg"]
    limit = window_limit_Mbps(_rapid()["sender_buffer"], rtt_ms)
    return stands(
        limit < claimed.number <= 2 * limit,
        f"{limit:.0f} to {2 * limit:.0f} Mb/s",
        f"That buffer over {rtt_ms:g} ms allows the first, too little; Linux doubles what is asked "
        "for (socket(7)), which allows the second",
    )


@CLAIMS("rapid", "Data transferred in one minute", "more than 16 GBytes")
def _(claimed: Printed) -> Finding:
    amount = _rapid()["amount"]
    return stands(
        amount / 1e9 > claimed.number,
        f"{amount / 1e9:.2f} GB",
        f"In units of 10^9; in units of 2^30 it is {amount / GIB:.2f}",
    )


@CLAIMS("Top and rapid", "The equivalent of high quality DVD movies in a minute", "4")
def _(claimed: Printed) -> Finding:
    discs = _rapid()["amount"] / DVD_CAPACITY_B
    needed = claimed.number * DVD_CAPACITY_B * 8 / 60 / 1e9
    return claimed.against(
        discs,
        f"Full single-layer discs of {DVD_CAPACITY_B / 1e9:g} GB (ECMA-267); 4 need "
        f"{needed:.2f} Gb/s, above the 2.5 of the link. True of films of up to "
        f"{_rapid()['amount'] / claimed.number / 1e9:.1f} GB",
        unit="discs",
    )


@CLAIMS("End of the page", "The transfer precedes the date shown at Sunnyvale", "22:11:44 PST")
def _(claimed: Printed) -> Finding:
    shown = datetime(2003, 3, 3, 6, 11, 44, tzinfo=UTC)
    stop = datetime.fromtimestamp(_rapid()["stop"], UTC)
    minutes = (shown - stop).total_seconds() / 60
    return stands(
        0 < minutes < 60,
        f"{stop:%Y-%m-%d %H:%M:%S} UTC",
        f"rapid's stop time is {minutes:.1f} min before Sun Mar 2 22:11:44 PST 2003",
    )


@CLAIMS("ping at Sunnyvale", "Round trip of the path to Geneva", "64.879 ms")
def _(claimed: Printed) -> Finding:
    far, near = _hops("GVA")[2], _ping("SNV")["avg"]
    return claimed.against(
        _ping("GVA")["avg"],
        "A path has one round-trip time; this ping ends at 192.91.236.245, not at the receiver. "
        f"With the {far:g} ms from there to Geneva it makes {far + near:.1f}",
        unit="ms",
    )


def _average_of_samples(site: str, claimed: Printed) -> Finding:
    frame = published.load("slac-2003-path")
    chosen = frame.query("tool == 'ping' and from_site == @site and statistic == 'sample'")
    mean = chosen["rtt_ms"].mean()
    unit = 10.0 ** -max(
        len(text.partition(".")[2])
        for text in published.read_raw("slac-2003-path").loc[chosen.index, "rtt"]
    )
    return stands(
        mean <= claimed.number < mean + unit,
        f"{mean:g} to {mean + unit:g} ms",
        f"Mean of {len(chosen)} replies, each cut to {unit:g} ms",
    )


@CLAIMS("ping at Sunnyvale", "Average of the replies", "64.879 ms")
def _(claimed: Printed) -> Finding:
    return _average_of_samples("SNV", claimed)


@CLAIMS("ping at Geneva", "Average of the replies", "183.022 ms")
def _(claimed: Printed) -> Finding:
    return _average_of_samples("GVA", claimed)


def _deviation(site: str, claimed: Printed) -> Finding:
    ping = _ping(site)
    most = (ping["max"] - ping["min"]) / 2
    return stands(
        claimed.number <= most,
        f"at most {most:.3f} ms",
        "A mean or standard deviation cannot exceed half of max less min",
    )


@CLAIMS("ping at Sunnyvale", "mdev of the replies", "0.349 ms")
def _(claimed: Printed) -> Finding:
    return _deviation("SNV", claimed)


@CLAIMS("ping at Geneva", "mdev of the replies", "0.270 ms")
def _(claimed: Printed) -> Finding:
    return _deviation("GVA", claimed)


def _ttl(site: str, claimed: Printed) -> Finding:
    routers = int(_hops(site).index.max()) - 1
    return claimed.against(64 - routers, f"64 less the {routers} routers of the traceroute")


@CLAIMS("ping at Sunnyvale", "ttl of the replies", "61")
def _(claimed: Printed) -> Finding:
    return _ttl("SNV", claimed)


@CLAIMS("ping at Geneva", "ttl of the replies", "60")
def _(claimed: Printed) -> Finding:
    return _ttl("GVA", claimed)
