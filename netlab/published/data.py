"""Published files as frames: the printed text, its description and digest, by document."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Any

import pandas as pd

from netlab.bus import PCI_X_100, PCI_X_133
from netlab.errors import BadInput, check
from netlab.files.json_file import read_json
from netlab.files.paths import data_dir
from netlab.units import KIB, MIB

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
        content = file.read_bytes()
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
