"""Tables of a study of a long path, and its transfer in the format of 2003."""

from __future__ import annotations

import math

import pandas as pd

from netlab.analysis.cell_texts import MISSING, number
from netlab.analysis.shares import stacks_text
from netlab.congestion import bdp_B
from netlab.files.recorded_facts import provenance_of
from netlab.files.tables import Preformatted, Sentence, Table, table_or
from netlab.longpath.analysis import LongPath, factors, single_changes
from netlab.measure.bottleneck import bottleneck
from netlab.openlab import published
from netlab.study.base import controls

SHORT_FORM = (
    "This is the short form of the study: runs of {total:g} s. At {rtt:.0f} ms that is {trips:.0f} "
    "round trips, most of them slow start. Processes that take minutes, such as Reno's recovery, "
    "need the longer runs of the whole study."
)


def form(lp: LongPath) -> Sentence:
    """Sentence on the form of the study: whole or short, and the length of its runs."""
    timing = lp.measured.study.timing
    rtt_ms = lp.rtt_ms(lp.compared["path"].iloc[0])
    total_s = timing.warmup_at(rtt_ms / 1e3) + timing.seconds
    trips = 1e3 * total_s / rtt_ms
    if not lp.short:
        return Sentence(f"Runs of {total_s:g} s: {trips:,.0f} round trips of {rtt_ms:.0f} ms.")
    return Sentence("Short form. " + SHORT_FORM.format(total=total_s, rtt=rtt_ms, trips=trips))


def _mean(row: dict) -> str:
    return number(row["mean_Mbps"])


def _within(centre: float, half: float, digits: int) -> str:
    """Interval within one run, without a ±: another run may lie far outside of it."""
    if math.isnan(centre) or math.isnan(half):
        return MISSING
    return f"{centre - half:.{digits}f} to {centre + half:.{digits}f}"


def _percent(share: float) -> str:
    return MISSING if math.isnan(share) else f"{100 * share:.1f} %"


def _number(value: float, digits: int = 0) -> str:
    return MISSING if value is None or pd.isna(value) else f"{value:,.{digits}f}"


def paths(lp: LongPath) -> Table:
    """Emulated paths: configuration, window needed, and measured delay and queue."""
    rows = []
    for name, path in lp.measured.study.paths.items():
        runs = lp.runs[lp.runs["path"] == name]
        if runs.empty or path.link is None or path.link.emulator is None:
            continue
        emulator, rtt_ms = path.link.emulator, lp.rtt_ms(name)
        rate_Mbps = path.link.shaped_Mbps[0]
        need_B = bdp_B(rate_Mbps, rtt_ms) if rate_Mbps and rtt_ms else math.nan
        queue = emulator.queue_B
        rows.append(
            {
                "path": name,
                "RTT, ms": f"{rtt_ms:g}",
                "ping, least, ms": _number(runs["ping_min_ms"].min(), 2),
                "rate, Mb/s": f"{rate_Mbps or math.nan:g}",
                "window needed, MB": _number(need_B / 1e6, 1),
                "queue, MB": MISSING if queue is None else f"{queue / 1e6:.1f}",
                "deepest queue, MB": _number(runs["path_queue_max_B"].max() / 1e6, 1),
                "dropped by a full queue": _number(runs["path_queue_drops"].sum()),
                "emulator late, us": _number(runs["emulator_late_us"].max()),
            }
        )
    note = "Late: 99 % of the emulator's writes of every run were at most this late."
    return Table(pd.DataFrame(rows), "The emulated paths", note=note)


def opening(lp: LongPath) -> tuple[Table | Sentence, ...]:
    """First tables of a site: form of the study, paths, goodput of the stacks."""
    shown = (form(lp), paths(lp), stacks(lp))
    return (*shown, configurations(lp)) if len(lp.part("configurations")) else shown


def stacks(lp: LongPath) -> Table:
    """The four stacks with either MTU: goodput after slow start, and its bottleneck."""
    rows = [
        {
            "stack": stacks_text(controls(row["congestion"])),
            "MTU, B": row["mtu_B"],
            "Mb/s": _mean(row),
            "within the run, Mb/s": _within(row["mean_Mbps"], row["half_width_Mbps"], 1),
            "of the path": _percent(row["mean_Mbps"] / lp.payload_limit_Mbps(row)),
            "slow start, s": _number(row["slow_start_s"], 1),
            "ended by": row["ended_by"],
            "retransmits": _number(row["retransmits"]),
            "least RTT, ms": _number(row["min_rtt_us"] / 1e3, 1),
            "RTT, ms": _number(row["rtt_us"] / 1e3, 1),
            "bound by": bottleneck(row),
            "flags": row["flags"],
        }
        for row in lp.compared.to_dict("records")
    ]
    level = 100 * lp.measured.study.confidence
    note = (
        f"Mean after slow start. Within the run: {level:g} % interval of that run alone, from "
        "batch means of at least two round trips; repeated runs scatter more. Of the path: share "
        "of the payload that its rate carries. Flagged runs are shown, but their figures are not "
        "reliable."
    )
    return Table(pd.DataFrame(rows), "Goodput after slow start", note=note)


def configurations(lp: LongPath) -> Table:
    """All ten configurations of HS TCP in the page's order."""
    runs = lp.part("configurations")
    set_as = factors(runs)[["run_id", "txqueuelen", "windows"]]
    rows = [
        {
            "plot": row["group"].removeprefix("HS TCP "),
            "MTU, B": row["mtu_B"],
            "txqueuelen": row["txqueuelen"],
            "memory": row["tuning"].split("-")[0],
            "windows": row["windows"],
            "Mb/s": _mean(row),
            "retransmits": _number(row["retransmits"]),
            "dropped by the device": _number(row["interface_drops"]),
            "SO_SNDBUF now, MB": _number(row["sndbuf_B"] / 1e6, 1),
            "bound by": bottleneck(row),
            "flags": row["flags"],
        }
        for row in runs.merge(set_as, on="run_id").to_dict("records")
    ]
    note = (
        "The page's plots are lost, so there are no figures of 2003 to compare with. Windows as "
        "requested, sender/receiver; the kernel doubles them."
    )
    return Table(pd.DataFrame(rows), "HS TCP, the ten configurations", note=note)


FACTOR_WORDS = {"memory": "tcp_rmem; tcp_wmem", "windows": "windows, sender/receiver"}


def changes(lp: LongPath) -> Table | Sentence:
    """Effect of single settings among the ten configurations, all else equal."""
    runs = lp.part("configurations")
    known = {row["run_id"]: row for row in runs.to_dict("records")}
    rows = []
    for pair in single_changes(runs).to_dict("records"):
        one, other = known[pair["from_run"]], known[pair["to_run"]]
        before, after = one["mean_Mbps"], other["mean_Mbps"]
        rows.append(
            {
                "setting": FACTOR_WORDS.get(pair["factor"], pair["factor"]),
                "MTU, B": one["mtu_B"],
                "from": pair["from_level"],
                "to": pair["to_level"],
                "plots": f"{one['group'].split()[-1]} to {other['group'].split()[-1]}",
                "Mb/s": f"{_mean(one)} to {_mean(other)}",
                "ratio": _number(after / before if before else math.nan, 2),
            }
        )
    note = "One run each: the ratios have no interval over rounds, and no verdict."
    none = "No two of these runs differ in one setting."
    return table_or(none, rows, "One setting changed, all else equal", note=note)


def memory(lp: LongPath) -> Table | Sentence:
    """FAST with memory settings A and B."""
    jumbo = lp.part("comparison").query("congestion == 'fast' and mtu_B == 9000")
    rows = [
        {
            "memory settings": row["tuning"].split("-")[0],
            "window": "kernel's" if row["buffer_B"] == 0 else "40 M, requested",
            "Mb/s": _mean(row),
            "SO_SNDBUF at the end, MB": _number(row["sndbuf_B"] / 1e6, 1),
            "slow start, s": _number(row["slow_start_s"], 1),
            "retransmits": _number(row["retransmits"]),
            "limited by the send buffer": f"{100 * (row['sndbuf_limited_share'] or 0):.0f} %",
            "flags": row["flags"],
        }
        for row in [*jumbo.to_dict("records"), *lp.part("memory").to_dict("records")]
    ]
    rows.sort(key=lambda row: (row["window"], row["memory settings"]))
    caption = "FAST, memory settings A and B, MTU 9000"
    return table_or("No run of FAST was measured.", rows, caption)


def recoveries(lp: LongPath, part: str) -> Table | Sentence:
    """Recovery from a forced loss beside the law of each stack."""
    runs = lp.part(part)[["run_id", "flags"]].merge(lp.recoveries, on="run_id")
    rows = [
        {
            "stack": row["stack"],
            "window, segments": f"{row['before_segments']:.0f} to {row['least_segments']:.0f}",
            "kept": _number(row["kept"], 3),
            "law": _number(row["law_kept"], 3),
            "gained a round trip": _number(row["growth_segments"], 2),
            "law ": _number(row["law_growth_segments"], 2),
            "recovery, s": f"not within {row['seen_s']:.1f}"
            if math.isnan(row["recovery_s"])
            else f"{row['recovery_s']:.1f}",
            "law, s": _number(row["law_recovery_s"], 1),
            "RTT, ms": _number(row["rtt_ms"], 0),
            "flags": row["flags"],
        }
        for row in runs.to_dict("records")
    ]
    note = (
        "One packet was dropped. Recovery: time until the window has its old size. The law is the "
        "published one from that window on, at the measured round-trip time; FAST has none. "
        "Samples are 100 ms apart."
    )
    return table_or("No loss was forced in these runs.", rows, "A loss, and the law", note=note)


def fairness(lp: LongPath, part: str) -> Table | Sentence:
    """Several flows: goodput of each, and Jain's index."""
    runs = lp.part(part)[["run_id", "label", "retransmits", "flags"]].merge(lp.fairness)
    rows = [
        {
            "flows": row["label"].removesuffix(" (scaled down)"),
            "Mb/s": ", ".join(
                f"{name} {number(rate)}"
                for name, rate in zip(row["flows"], row["flows_Mbps"], strict=True)
            ),
            "Jain's index over time": f"{row['jain']:.3f}",
            "within the run": _within(row["jain"], row["half_width"], 3),
            "of the means": f"{row['jain_of_means']:.3f}",
            "retransmits": _number(row["retransmits"]),
            "flags": row["flags"],
        }
        for row in runs.to_dict("records")
    ]
    note = "1: equal shares; 1/n: one of n flows has everything. In the measured window."
    return table_or("Only the whole study has these runs.", rows, "Shares of the flows", note=note)


def transfer(lp: LongPath) -> Sentence:
    """The transfer of a fixed amount in rapid's format, beside the page's."""
    runs = lp.part("transfer")
    runs = runs[runs["window_s"].notna() & runs["records"].notna()]
    if runs.empty:
        return Sentence("The transfer was not measured.")
    run = runs.iloc[0]
    then = published.load("slac-2003-rapid").set_index("quantity")["value"]
    amount_B = int(run["received_B"])
    began = run["started_at"].timestamp()
    throughput = amount_B * 8 / run["window_s"] / 1e6
    lines = [
        ("", "now", "2003"),
        ("records", f"{run['records']} x {run['record_length_B']} B", "1000 x 16388608 B"),
        ("amount transferred", f"{float(amount_B):.1f} bytes", f"{then['amount']:.1f} bytes"),
        ("start time", f"{began:.3f}", f"{then['start']:.3f}"),
        ("stop time", f"{began + run['window_s']:.3f}", f"{then['stop']:.3f}"),
        ("total time", f"{run['window_s']:.3f} seconds", "59.991 seconds"),
        ("throughput", f"{throughput:.3f} megabits/sec", f"{then['throughput']:.3f} megabits/sec"),
    ]
    wide = [max(len(line[column]) for line in lines) for column in (0, 1)]
    text = "\n".join(f"{a:<{wide[0]}}  {b:<{wide[1]}}  {c}" for a, b, c in lines)
    if run["records"] != then["records"]:
        share = run["records"] / then["records"]
        text += f"\n\nshort form: {100 * share:g} % of the records of 2003"
    if run["flags"]:
        text += f"\n\nflagged: {run['flags']}"
    return Preformatted(text + "\n")


def path_as_seen(lp: LongPath) -> Sentence:
    """Output of ping and traceroute for each path."""
    seen: dict[str, str] = {}
    for row in lp.runs.itertuples():
        printed = provenance_of(row.provenance)["path_check"]
        text = "\n".join((printed["ping"], printed["traceroute"])) if printed else ""
        if text and row.path not in seen:
            seen[row.path] = text
    if not seen:
        return Sentence("ping and traceroute were not recorded.")
    return Preformatted("\n\n".join(f"# {path}\n{text}" for path, text in seen.items()))
