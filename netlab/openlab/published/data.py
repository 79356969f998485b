"""Published files as frames: the printed text, description and digest by document."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.bus import PCI_X_100, PCI_X_133
from netlab.congestion import LAWS, bdp_B, mss_B, window_limit_Mbps
from netlab.errors import BadInput, check
from netlab.files.paths import data_dir
from netlab.files.reading import read_bytes
from netlab.files.tables import Table
from netlab.files.writing import read_json
from netlab.units import KIB, MIB, listed

# Published files: the printed text, its description, its digest.


def names() -> list[str]:
    """Names of all published data sets, sorted."""
    return sorted(path.stem for path in _directory().glob("*.json"))


def describe(name: str) -> dict[str, Any]:
    """Content and origin of a data set, with the path of its ``file``; see its JSON."""
    text = f"no such published data set; there are {', '.join(names())}"
    check(name in names(), "", name, text, "E-PUBLISHED-017")
    content = read_json(_directory() / f"{name}.json")
    return content | {"file": _directory() / content["file"]}


def read_raw(name: str) -> pd.DataFrame:
    """Read the CSV file of a data set, every cell as the printed text."""
    about = describe(name)
    file, where = about["file"], str(about["file"])
    try:
        content = read_bytes(file)
    except OSError as error:
        text = f"cannot be read: {error.strerror}"
        raise BadInput(text, where=where, code="E-PUBLISHED-018") from error
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        text = f"differs from what {name}.json describes; published values are never edited"
        raise BadInput(text, where=where, code="E-PUBLISHED-019")
    return pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)


def numbers(raw: pd.DataFrame) -> pd.DataFrame:
    """The data with every column of numbers as numbers, missing where nothing was printed."""
    read = {}
    for name in raw:
        texts = raw[name].str.strip()
        values = pd.to_numeric(texts.where(texts != ""), errors="coerce")
        numeric = bool(texts.ne("").any()) and bool(values[texts != ""].notna().all())
        read[name] = values.convert_dtypes() if numeric else raw[name]
    return pd.DataFrame(read)


def _directory() -> Path:
    path = data_dir() / "published"
    if not path.is_dir():
        raise BadInput("has no published/ directory", where=str(data_dir()), code="E-PUBLISHED-020")
    return path


# Measurements and settings of two articles on tuning gigabit hosts.

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


# The two openlab documents of 2003: the report and the preliminary notes.

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


# The wide-area tests from Sunnyvale to Geneva, March 2003.

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


# The wide-area tests: path, windows needed and given, recovery after a loss.


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


_TIDY: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "gigabit-tuning": tuning,
    "openlab-2003": report,
    "openlab-2003-preliminary": preliminary,
    "slac-2003": configurations,
    "slac-2003-path": path,
    "slac-2003-rapid": rapid,
}
_AS_PRINTED = ("gigabit-settings", "slac-2003-settings", "slac-2003-wad")
"""Settings, which stay text."""


def load(name: str) -> pd.DataFrame:
    """A published data set as a tidy frame."""
    raw = read_raw(name)
    if name not in _AS_PRINTED:
        raw = _TIDY.get(name, numbers)(raw)
    return raw[[column["name"] for column in describe(name)["tidy_columns"]]]
