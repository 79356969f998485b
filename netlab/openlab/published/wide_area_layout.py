"""The wide-area tests: path, windows needed and given, recovery after a loss."""

from __future__ import annotations

import pandas as pd

from netlab.congestion import LAWS, bdp_B, mss_B, window_limit_Mbps
from netlab.files.tables import Table
from netlab.openlab.published.data import load
from netlab.units import MIB, listed

MTUS_B = (9000, 1500)


def path_figures() -> dict[str, float]:
    """Properties of the path: ``rtt_ms``, ``rtt_near_ms``, ``bottleneck_Mbps`` and ``bdp_B``."""
    first = load("slac-2003").iloc[0]
    figures = {key: float(first[key]) for key in ("rtt_ms", "rtt_near_ms", "bottleneck_Mbps")}
    return figures | {"bdp_B": bdp_B(figures["bottleneck_Mbps"], figures["rtt_ms"])}


def windows() -> pd.DataFrame:
    """Window needed and window given, for each configuration."""
    frame = load("slac-2003")
    both = frame[["sender_window_B", "receiver_window_B"]].astype("Float64")
    smaller = both.min(axis=1, skipna=False)
    rtt_ms, bottleneck = frame["rtt_ms"].iloc[0], frame["bottleneck_Mbps"].iloc[0]
    needed = bdp_B(bottleneck, rtt_ms)

    def limit(factor: int) -> pd.Series:
        windows_B = factor * smaller.astype(float)
        limits = windows_B.map(lambda B: window_limit_Mbps(B, rtt_ms), na_action="ignore")
        return limits.clip(upper=bottleneck)

    return frame.assign(
        needed_B=needed,
        given_B=smaller,
        percent=100 * smaller / needed,
        limit_Mbps=limit(1),
        doubled_Mbps=limit(2),
        segments=needed / frame["mtu_B"].map(mss_B, na_action="ignore").astype(float),
    )


def configurations_table() -> Table:
    """All configurations on the page, as far as they are stated."""
    frame = load("slac-2003")
    keys = ["tcp_rmem", "tcp_wmem", "tcp_mem"]
    sets = frame.dropna(subset=keys).drop_duplicates(keys)
    letters = dict(zip(sets["tcp_mem"], "AB", strict=True))
    memory = frame["tcp_mem"].map(letters)
    meaning = "; ".join(
        f"{letters[row.tcp_mem]}: tcp_rmem {row.tcp_rmem} B, tcp_wmem {row.tcp_wmem} B, "
        f"tcp_mem {row.tcp_mem} pages"
        for row in sets.itertuples()
    )
    shown = pd.DataFrame(
        {
            "Where": frame["place"],
            "Stack": frame["stack"],
            "MTU, B": frame["mtu_B"],
            "txqueuelen": frame["txqueuelen"],
            "Sender window, MiB": frame["sender_window_B"] // MIB,
            "Receiver window, MiB": frame["receiver_window_B"] // MIB,
            "tcp memory": memory,
            "wad.conf sndbuf, rcvbuf, MiB": [
                None if pd.isna(s) else f"{s // MIB}, {r // MIB}"
                for s, r in zip(frame["wad_sndbuf_B"], frame["wad_rcvbuf_B"], strict=True)
            ],
        }
    )
    return Table(
        shown,
        "Configurations of the tests from Sunnyvale to Geneva",
        note=f"A dash marks what the page does not state. Memory settings {meaning}.",
    )


def path_table() -> Table:
    """Ping and traceroute from both ends, least and largest time of each."""
    frame = load("slac-2003-path")
    frame = frame[frame["statistic"].str.startswith("probe") | (frame["tool"] == "ping")]
    rows = []
    for (site, tool), part in frame.groupby(["from_site", "tool"], sort=False):
        if tool == "ping":
            summary = part[part["statistic"] != "sample"].set_index("statistic")["rtt_ms"]
            about = f"ping, average {summary['avg']:g}"
            rows.append((site, about, part["to_address"].iloc[0], summary["min"], summary["max"]))
            continue
        hops = part.groupby(["number", "address"], sort=False)["rtt_ms"].agg(["min", "max"])
        rows += [
            (site, f"traceroute, hop {hop}", to, *ends) for (hop, to), *ends in hops.itertuples()
        ]
    columns = ["From", "Measured by", "Address", "Least, ms", "Largest, ms"]
    shown = pd.DataFrame(rows, columns=columns).set_index(["From", "Measured by"])
    return Table(
        shown,
        "Round-trip times from Sunnyvale (SNV) and Geneva (GVA)",
        formats=".3f",
        note="The probes from Sunnyvale end at 192.91.236.245, two thirds of the delay short of "
        "the receiver 192.91.239.213.",
    )


def windows_table() -> Table:
    """Window needed and given, one row for each different pair of windows."""
    frame = windows().dropna(subset="given_B")
    keys = ["sender_window_B", "receiver_window_B"]
    first = frame.drop_duplicates(keys)
    counts = frame.groupby(keys).size()
    shown = pd.DataFrame(
        {
            "Sender window, MiB": first["sender_window_B"] // MIB,
            "Receiver window, MiB": first["receiver_window_B"] // MIB,
            "Configurations": [counts[tuple(pair)] for pair in first[keys].to_numpy()],
            "Needed, MB": first["needed_B"] / 1e6,
            "Given, MB": first["given_B"].astype(float) / 1e6,
            "Given, % of needed": first["percent"].astype(float),
            "Allows, Mb/s": first["limit_Mbps"],
            "Allows if doubled, Mb/s": first["doubled_Mbps"],
        }
    ).reset_index(drop=True)
    figures = path_figures()
    return Table(
        shown,
        "Window needed and window given",
        formats={
            "Needed, MB": ".1f", "Given, MB": ".1f", "Given, % of needed": ".0f",
            "Allows, Mb/s": ".0f", "Allows if doubled, Mb/s": ".0f",
        },
        note=f"Needed: {figures['bottleneck_Mbps']:g} Mb/s times {figures['rtt_ms']:g} ms. Linux "
        "doubles the buffer a program asks for; part of it is then overhead.",
    )  # fmt: skip


def windows_each_table() -> Table:
    """Window needed and given of every configuration, in the order of the page."""
    frame = windows()
    shown = pd.DataFrame(
        {
            "Where": frame["place"],
            "Stack": frame["stack"],
            "MTU, B": frame["mtu_B"],
            "Needed, MB": frame["needed_B"] / 1e6,
            "Needed, segments": frame["segments"],
            "Given, MB": frame["given_B"].astype(float) / 1e6,
            "Given, % of needed": frame["percent"].astype(float),
        }
    )
    return Table(
        shown,
        "Window needed and given, configuration by configuration",
        formats={
            "Needed, MB": ".1f", "Needed, segments": ".0f", "Given, MB": ".1f",
            "Given, % of needed": ".0f",
        },
        note="A dash marks what the page does not state. Given is the smaller window.",
    )  # fmt: skip


def transfer_table() -> Table:
    """The transfer of one minute with rapid: printed and recomputed values."""
    rapid = load("slac-2003-rapid").set_index("quantity")["value"]
    figures = path_figures()
    elapsed_s = rapid["stop"] - rapid["start"]
    rate_Mbps = rapid["amount"] * 8 / elapsed_s / 1e6
    allowed = window_limit_Mbps(rapid["sender_buffer"], figures["rtt_ms"])
    rows = [
        ("Amount, GB", rapid["amount"] / 1e9, rapid["records"] * rapid["record_length"] / 1e9,
         "records times record length"),
        ("Elapsed, s", rapid["elapsed"], elapsed_s, "stop less start"),
        ("Goodput, Mb/s", rapid["throughput"], rate_Mbps, "amount over time"),
        ("Goodput, % of the bottleneck", None,
         100 * rate_Mbps / figures["bottleneck_Mbps"], "over 2.5 Gb/s"),
        ("Most with the sender's buffer, Mb/s", None, allowed, "42543040 B each round trip"),
        ("Most with it doubled, Mb/s", None, 2 * allowed, "as Linux does"),
    ]  # fmt: skip
    shown = pd.DataFrame(rows, columns=["Quantity", "Printed", "Recomputed", "How"])
    return Table(
        shown,
        "rapid, Sunnyvale to Geneva, one minute",
        formats={"Printed": ".3f", "Recomputed": ".3f"},
    )


def recovery_table() -> Table:
    """Time to recover from one loss on the full path, by stack and MTU."""
    figures, rows = path_figures(), []
    for mtu_B in MTUS_B:
        segments = figures["bdp_B"] / mss_B(mtu_B)
        for law in LAWS:
            took = law.recovery_round_trips(segments), law.recovery_s(segments, figures["rtt_ms"])
            rows.append((law.name, mtu_B, segments, 100 * law.kept(segments), *took))
    columns = ["Stack", "MTU, B", "Window, segments", "Kept after a loss, %"]
    columns += ["Round trips to recover", "Recovery time, s"]
    return Table(
        pd.DataFrame(rows, columns=columns),
        "Recovery after one loss on the full path",
        formats=dict(zip(columns[2:], (".0f", ".0f", ".0f", ".1f"), strict=True)),
        note="; ".join(f"{law.name}: {law.source}" for law in LAWS) + ".",
    )


def recovery_sentence() -> str:
    """A sentence on the window that the path needs, and on the cost of a loss to each law."""
    figures = path_figures()
    costs = [
        f"{law.name} {law.recovery_s(figures['bdp_B'] / mss_B(1500), figures['rtt_ms']):,.0f} s"
        for law in LAWS
    ]
    return (
        f"The path needs a window of {figures['bdp_B'] / 1e6:.0f} MB, and with MTU 1500 B one lost "
        f"packet costs {listed(costs)}."
    )
