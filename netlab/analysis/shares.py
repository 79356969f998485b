"""Shares of the streams and stacks of each cell, and Jain's index, with intervals over rounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from pandas.core.groupby import SeriesGroupBy

from netlab.analysis.cell_precision import nominal_level
from netlab.analysis.cells import CELL_KEYS, ended, flags_in, mean_interval, valid
from netlab.analysis.intervals import LEAST_ROUNDS
from netlab.analysis.measured import Measured, computed_once, with_units
from netlab.analysis.t_distribution import t_quantile
from netlab.measure.steadiness import whole_within
from netlab.study import flows as unequal
from netlab.study.base import dealt
from netlab.units import listed

STACK_NAMES = {
    "reno": "Reno",
    "highspeed": "HighSpeed",
    "scalable": "Scalable",
    "fast": "FAST",
    "cubic": "CUBIC",
    "bbr": "BBR",
    "aimd": "AIMD",
}


SPAN_NAMES = {
    unequal.BOTH: "both links",
    unequal.FIRST: "the first link",
    unequal.SECOND: "the second link",
}

LINKS = {unequal.FIRST: "first link", unequal.SECOND: "second link"}
WAYS = ("forward", "reverse", *LINKS.values())
"""Parts of a path that the flows of a run share: a direction, or each of two links in a row."""


FROM = "from_"
"""Before the name of the host that sends a flow of several hosts, in its `control`."""


def stack_name(congestion: str, *, whole: bool = False) -> str:
    """Usual name of a congestion control, also of a study's own, such as ``fast-small``.

    `whole` adds the study's own name, as in ``FAST (fast-small)``.
    """
    name, _, own = congestion.partition("@")
    shown = STACK_NAMES.get(name.partition("-")[0], name)
    if whole and shown.lower() != name:
        shown = f"{shown} ({name})"
    own, _, host = own.partition(FROM)
    own = own.removesuffix("_")
    if own in SPAN_NAMES:
        shown = f"{shown} over {SPAN_NAMES[own]}"
    elif own:
        shown = f"{shown} at {own.removesuffix('ms')} ms"
    return f"{shown} from {host}" if host else shown


def stack_names(named: Iterable[str]) -> dict[str, str]:
    """Usual name of each congestion control; those of one usual name with the study's own."""
    usual = {one: stack_name(one) for one in named}
    shared = Counter(usual.values())
    return {one: stack_name(one, whole=shared[name] > 1) for one, name in usual.items()}


def stacks_text(stacks: Iterable[tuple[int, str]]) -> str:
    """``BBR and 16 CUBIC`` of numbers of streams and congestion controls; each once."""
    counts: Counter[str] = Counter()
    for number, name in stacks:
        counts[name] += number
    names = stack_names(counts)
    return listed(f"{number} " * (number > 1) + names[name] for name, number in counts.items())


def stack_of_stream(congestion: str, stream: int) -> str:
    """Stack of one stream of a run: names joined by ``+`` are assigned in turn."""
    names = dealt(congestion)
    return stack_name(names[stream % len(names)])


STREAM_COLUMNS = (
    *("run_id", *CELL_KEYS, "round", "way", "stream", "control", "goodput_MBps", "share_percent"),
)
STACK_COLUMNS = (
    *(*CELL_KEYS, "way", "control", "flows", "of_flows", "n_runs", "share_percent"),
    *("share_low_percent", "share_high_percent", "flow_MBps", "disturbed"),
)


JAIN_COLUMNS = (
    *(*CELL_KEYS, "way", "congestion", "of_flows", "n_runs", "jain_index"),
    *("jain_low", "jain_high", "disturbed"),
)


@computed_once
def of_streams(m: Measured) -> pd.DataFrame:
    """Goodput and share of every stream of every run of several streams, within its window.

    ``control`` is the congestion control, of a flow with a round trip of its own ``cubic@50ms``,
    with links of its own ``cubic@first``, of several hosts ``cubic@from_left``. Where flows start
    or end within a run, of the time in which all are on. A direction (``way``) is shared for
    itself; where flows pass one of two links alone, so is each link, and a flow over both has a row
    of each. Runs that broke off are left out, and those of a generator that does not count each
    stream.
    """
    if m.samples is None:
        return pd.DataFrame(columns=list(STREAM_COLUMNS))
    several = ended(m.runs[m.runs["streams"] > 1])
    keys, parts = ["run_id", "direction", "stream"], []
    needed = (*keys, "t_s", "bytes", "interval_s", "in_window")
    for samples in m.samples.batches(needed):
        inside = samples[samples["in_window"]]
        inside = _together(inside[inside["run_id"].isin(several["run_id"])], several)
        parts.append(inside.groupby(keys, as_index=False)[["bytes", "interval_s"]].sum())
    sums = pd.concat(parts).sort_values(keys, ignore_index=True)
    sums = sums.merge(several[["run_id", *CELL_KEYS, "round", "congestion", "flows"]], on="run_id")
    of_direction = sums.groupby(["run_id", "direction"])["stream"]
    counted = of_direction.transform("size") == sums["streams"]
    sums = _by_link(sums[counted & (sums["interval_s"] > 0)])
    total_B = sums.groupby(["run_id", "way"])["bytes"].transform("sum")
    sums, total_B = sums[total_B > 0], total_B[total_B > 0]
    pairs = sums[["congestion", "flows"]].drop_duplicates().to_numpy()
    of = {(name, text): controls_of_streams(name, text) for name, text in pairs}
    plans = zip(sums["congestion"], sums["flows"], strict=True)
    dealt_to = zip((of[plan] for plan in plans), sums["stream"], strict=True)
    frame = sums.assign(
        control=[controls[stream % len(controls)] for controls, stream in dealt_to],
        goodput_MBps=sums["bytes"] / sums["interval_s"] / 1e6,
        share_percent=100 * sums["bytes"] / total_B,
    )
    return frame[list(STREAM_COLUMNS)].reset_index(drop=True)


def controls_of_streams(congestion: str, flows: str) -> list[str]:
    """The ``control`` of each stream until they are dealt anew."""
    names, own = dealt(congestion) or [congestion], _own(flows)  # another tool may name none
    number = math.lcm(len(names), len(own))
    return [names[at % len(names)] + own[at % len(own)] for at in range(number)]


def _own(flows: str) -> list[str]:
    """Round trip or links of each stream, and its host, as its ``control`` has them.

    Empty if it has the path's round trip and links, and all streams are of one host.
    """
    each = unequal.each(unequal.from_text(flows))
    has_spans, marks = unequal.has_spans(each), []
    for one in each:
        own = one.over if has_spans else "" if one.rtt_ms is None else f"{one.rtt_ms:g}ms"
        host = FROM + one.from_ if one.from_ else ""
        marks.append("_".join(filter(None, (own, host))))
    return [f"@{mark}" if mark else "" for mark in marks] or [""]


def _by_link(streams: pd.DataFrame) -> pd.DataFrame:
    """Streams with their ``way``: the direction, or one row for each of two links that they pass"""
    plans = {text: unequal.each(unequal.from_text(text)) for text in streams["flows"].unique()}
    spans = {text: [f.over for f in of] for text, of in plans.items() if unequal.has_spans(of)}
    if not spans:
        return streams.assign(way=streams["direction"])
    over = np.array(
        [
            spans[text][stream % len(spans[text])] if text in spans else ""
            for text, stream in zip(streams["flows"], streams["stream"], strict=True)
        ]
    )
    whole = streams[over == ""]
    parts = [whole.assign(way=whole["direction"])]
    for hop, way in LINKS.items():
        parts.append(streams[(over == hop) | (over == unequal.BOTH)].assign(way=way))
    return pd.concat(parts, ignore_index=True)


def _together(intervals: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """Intervals in which all flows of their run are on."""
    plans = runs.loc[runs["flows"] != "", ["run_id", "flows"]]
    spans = {text: unequal.together_s(unequal.from_text(text)) for text in plans["flows"].unique()}
    of_run = {run: span for run, text in plans.to_numpy() if (span := spans[text]) is not None}
    if not of_run:
        return intervals
    always = (-math.inf, math.inf)
    first_s, last_s = np.array([of_run.get(run, always) for run in intervals["run_id"]]).T
    return intervals[whole_within(intervals, first_s, last_s)]


@computed_once
def counted_streams(m: Measured) -> pd.DataFrame:
    """Streams of the runs that count, in the order of cells and directions, ``place``.

    A cell without a valid run has those that ended, as other tables have; ``disturbed`` says why.
    One pass for all cells: a frame for each of thousands takes a hundred times as long.
    """
    streams, keys = of_streams(m), list(CELL_KEYS)
    cells = m.cells[keys].assign(cell=np.arange(len(m.cells)))
    runs = m.runs[["run_id", "flags", *keys]]
    runs = runs[runs["run_id"].isin(streams["run_id"].unique())].merge(cells, on=keys)
    runs["good"] = runs["run_id"].isin(valid(m.runs)["run_id"])
    any_good = runs.groupby("cell")["good"].transform("any")
    flagged = runs[~any_good].groupby("cell")["flags"].agg(lambda of: ", ".join(flags_in(of)))
    words = runs["cell"].map(flagged.to_dict()).astype(object)
    runs = runs[runs["good"] | ~any_good].assign(disturbed=words.where(words.notna(), ""))
    of_run = runs.set_index("run_id")
    frame = streams[streams["run_id"].isin(of_run.index)]
    cell = frame["run_id"].map(of_run["cell"]).to_numpy(dtype=int)
    return frame.assign(
        place=len(WAYS) * cell + frame["way"].map(WAYS.index).to_numpy(dtype=int),
        disturbed=frame["run_id"].map(of_run["disturbed"]),
    ).sort_values("place", kind="stable", ignore_index=True)


def bounded_interval(
    values: np.ndarray, least: float, most: float, level: float
) -> tuple[float, float, float]:
    """Mean of the rounds with Student's interval, cut at the bounds; none below three rounds."""
    mean, half = mean_interval(values, level)
    if len(values) < LEAST_ROUNDS or math.isnan(half):
        return mean, math.nan, math.nan
    return mean, max(least, mean - half), min(most, mean + half)


def figure(values: np.ndarray, least: float, most: float, level: float, disturbed: str) -> tuple:
    """Mean with its interval; of a flagged cell the median alone."""
    if disturbed:
        return float(np.median(values)), math.nan, math.nan
    return bounded_interval(values, least, most, level)


def _figures(
    values: SeriesGroupBy, disturbed: pd.Series, bounds: tuple[Any, float], level: float
) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Of each group what :func:`figure` is of one."""
    (least, most), count, mean = bounds, values.size(), values.mean()
    t = t_quantile(np.maximum(count - 1, 1), 0.5 + level / 2)
    half = (t * values.std() / np.sqrt(count)).where((count >= LEAST_ROUNDS) & (disturbed == ""))
    low, high = np.maximum(least, mean - half), np.minimum(most, mean + half)
    return mean.where(disturbed == "", values.median()), low, high


def _rows_of(m: Measured, frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Figures by ``place`` as rows with their cell and direction, and these columns."""
    frame = frame.reset_index()
    cells = m.cells[list(CELL_KEYS)].iloc[frame["place"] // len(WAYS)].reset_index(drop=True)
    ways = np.array(WAYS, dtype=object)
    frame = frame.assign(way=ways[frame["place"] % len(WAYS)], **dict(cells.items()))
    return frame[list(columns)]


def _of_places(streams: pd.DataFrame, figures: pd.DataFrame) -> pd.DataFrame:
    """Figures with the runs and flows of their cell and direction, and what disturbed it."""
    of_place = streams.groupby("place")
    counts = of_place.agg(
        n_runs=("run_id", "nunique"),
        of_flows=("stream", "nunique"),
        disturbed=("disturbed", "first"),
    )
    return figures.join(counts, on="place")


@computed_once
def of_stacks(m: Measured) -> pd.DataFrame:
    """Share of each stack in every cell of several streams, one row a cell, direction and stack."""
    streams, by = counted_streams(m), ["place", "control"]
    of_runs = streams.groupby([*by, "run_id"], sort=False).agg(
        share_percent=("share_percent", "sum"), goodput_MBps=("goodput_MBps", "mean")
    )
    of_stack = of_runs.groupby(level=by, sort=False)
    frame = streams.groupby(by, sort=False)["stream"].nunique().to_frame("flows")
    frame = _of_places(streams, frame)
    shares = of_stack["share_percent"]
    figures = _figures(shares, frame["disturbed"], (0.0, 100.0), nominal_level(m.study))
    names = ("share_percent", "share_low_percent", "share_high_percent")
    frame = frame.assign(**dict(zip(names, figures, strict=True)))
    return _rows_of(m, frame.assign(flow_MBps=of_stack["goodput_MBps"].mean()), STACK_COLUMNS)


@computed_once
def of_jain(m: Measured) -> pd.DataFrame:
    """Jain's index of every cell of several streams, one row a cell and direction."""
    streams = counted_streams(m)
    of_runs = streams.groupby(["place", "run_id"], sort=False)["goodput_MBps"]
    # scaled first, as :func:`netlab.measure.fairness.jain` does
    scaled = streams["goodput_MBps"] / of_runs.transform("max")
    sums = pd.DataFrame({"one": scaled, "square": scaled**2, "n": 1}).groupby(
        [streams["place"], streams["run_id"]], sort=False
    )
    total = sums.sum()
    indices = (total["one"] ** 2 / (total["n"] * total["square"])).groupby(level="place")
    first = streams.drop_duplicates("place").set_index("place")["run_id"]
    frame = first.map(m.runs.set_index("run_id")["congestion"]).astype(str).to_frame("congestion")
    frame = _of_places(streams, frame)
    figures = _figures(
        *(indices, frame["disturbed"], (1 / frame["of_flows"], 1.0), nominal_level(m.study))
    )
    names = ("jain_index", "jain_low", "jain_high")
    return _rows_of(m, frame.assign(**dict(zip(names, figures, strict=True))), JAIN_COLUMNS)


@computed_once
def of_each_stream(m: Measured) -> pd.DataFrame:
    """Share of every stream of every cell, one row a cell, direction and stream."""
    streams = counted_streams(m)
    of_stream = streams.groupby(["place", "stream", "control"])
    frame = of_stream.agg(
        n_runs=("run_id", "size"),
        goodput_MBps=("goodput_MBps", "mean"),
        disturbed=("disturbed", "first"),
    )
    shares = of_stream["share_percent"]
    figures = _figures(shares, frame["disturbed"], (0.0, 100.0), nominal_level(m.study))
    names = ("share_percent", "share_low_percent", "share_high_percent")
    columns = [*CELL_KEYS, "way", "stream", "control", "n_runs", *names]
    frame = frame.assign(**dict(zip(names, figures, strict=True)))
    return _rows_of(m, frame, [*columns, "goodput_MBps", "disturbed"])


@computed_once
def of_runs(m: Measured) -> pd.DataFrame:
    """Share of each stack in every run, one column a stack, by ``run_id``; the first direction's.

    Of cells of mixed stacks alone: ``share_bbr_percent``; of each of two links in a row
    ``share_cubic_both_of_first_percent``.
    """
    streams, columns = of_streams(m), share_columns(m)
    streams = streams[streams["way"] != "reverse"]
    mixed = streams.groupby(["run_id", "way"])["control"].transform("nunique") > 1
    pairs = streams.loc[mixed, ["control", "way"]].to_numpy()
    wide = streams[mixed].assign(column=[columns[control, way][""] for control, way in pairs])
    return wide.pivot_table(
        index="run_id", columns="column", values="share_percent", aggfunc="sum", sort=False
    )


OF_LINK = {way: f"of_{hop}" for hop, way in LINKS.items()}
"""Parts of the names of columns of each of two links."""


ENDS = ("low", "high")
"""Of an interval, in the names of its columns."""


@computed_once
def share_columns(m: Measured) -> dict[tuple[str, str], dict[str, str]]:
    """Columns of a share and of the ends of its interval, by control and way, then by end.

    A stack or a host may be named like the end of another's column. Of two alike the later one has
    more underscores before what is netlab's: ``share_bbr__low_percent`` beside a stack ``bbr_low``.
    """
    streams = of_streams(m)[["control", "way"]].drop_duplicates()
    pairs = set(map(tuple, streams[streams["way"] != "reverse"].to_numpy()))
    each = [(tuple(filter(None, (*c.split("@"), OF_LINK.get(way)))), (c, way)) for c, way in pairs]
    stems: dict[tuple[str, str], str] = {}
    # names of stacks alone first: they have no place for more underscores
    for parts, (control, way) in sorted(each, key=lambda one: (len(one[0]), one)):
        (stems[control, way],) = _unlike("share_", parts, ("",), stems.values())
    columns = {pair: {"": stem} for pair, stem in stems.items()}
    taken = set(stems.values())
    for pair, stem in stems.items():
        ends = _unlike("", [stem], ENDS, taken)
        columns[pair] |= dict(zip(ENDS, ends, strict=True))
        taken |= set(ends)
    return {
        pair: {end: f"{name}_percent" for end, name in of.items()} for pair, of in columns.items()
    }


def _unlike(
    before: str, parts: Sequence[str], ends: Sequence[str], taken: Collection[str]
) -> list[str]:
    """Parts and each end joined by as few underscores as make names that are not taken."""
    joints = ("_" * length for length in count(1))
    each = ([before + joint.join(filter(None, (*parts, e))) for e in ends] for joint in joints)
    return next(names for names in each if not set(names) & set(taken))


OF_CELLS = ("jain_index", "jain_low", "jain_high")
"""Columns of cells of several streams, besides a share of each stack."""


def with_shares(m: Measured, cells: pd.DataFrame) -> pd.DataFrame:
    """Cells with Jain's index and the share of each stack, with intervals, where they have them."""
    keys, known, units = list(CELL_KEYS), of_jain(m), cells.attrs.get("units")
    known = known[(known["way"] != "reverse") & (known["disturbed"] == "")]
    if known.empty:
        return cells
    stacks, frame = of_stacks(m), cells
    stacks = stacks[(stacks["way"] != "reverse") & (stacks["disturbed"] == "")]
    stacks = stacks[stacks["flows"] < stacks["of_flows"]]
    for way, part in known.groupby("way", sort=False):
        of = f"_{OF_LINK[str(way)]}" if way in OF_LINK else ""
        names = {name: name + of for name in OF_CELLS}
        frame = frame.join(part.set_index(keys)[list(names)].rename(columns=names), on=keys)
    for (control, way), part in stacks.groupby(["control", "way"], sort=False):
        names = {
            f"share_{end}_percent" if end else "share_percent": column
            for end, column in share_columns(m)[str(control), str(way)].items()
        }
        frame = frame.join(part.set_index(keys)[list(names)].rename(columns=names), on=keys)
    return frame if units is None else with_units(frame)
